/** Requests that do nothing: the price of a message. */
import { withClient } from '../client.mjs';
import { repeat, repeatInLanes } from '../statistics.mjs';
import { atLeast, atMost } from '../targets.mjs';

const IN_FLIGHT = 64;
// Long enough for the compiler of a JavaScript server, whatever the effort.
const WARM_UP_SECONDS = 0.5;

const noOp = {
  name: 'no-op',
  summary: `environment/status, one after another and ${IN_FLIGHT} in flight`,
  metrics: [
    { name: 'no-op, sequential: rate', unit: '/s', target: atLeast(0.85) },
    { name: 'no-op, sequential: CPU', unit: 'µs', target: atMost(1.3) },
    { name: `no-op, ${IN_FLIGHT} in flight: rate`, unit: '/s', target: atLeast(1) },
    { name: `no-op, ${IN_FLIGHT} in flight: CPU`, unit: 'µs' },
  ],
  run: (server, effort) =>
    withClient(server, async (client) => {
      const call = () => client.noOp();
      const seconds = 1.5 * effort;
      await repeatInLanes(IN_FLIGHT, { seconds: WARM_UP_SECONDS }, call);
      const sequential = await measure(server, () => repeat({ seconds }, call));
      const inFlight = await measure(server, () => repeatInLanes(IN_FLIGHT, { seconds }, call));
      return [sequential.rate, sequential.cpuUs, inFlight.rate, inFlight.cpuUs];
    }),
};

async function measure(server, work) {
  const before = server.cpuMs();
  const { count, seconds } = await work();
  return { rate: count / seconds, cpuUs: ((server.cpuMs() - before) * 1000) / count };
}

export const workloads = [noOp];
