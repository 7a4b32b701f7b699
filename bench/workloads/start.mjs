/** Short commands, over pipes and in a terminal: how soon they are started and over, and what that costs. */
import { withClient } from '../client.mjs';
import { median, repeat, repeatInLanes } from '../statistics.mjs';
import { atMost } from '../targets.mjs';

const ARGV = ['/bin/true'];
// Below what a session may hold: closed processes stay readable for a while.
const MAX_STARTS = 500;
const WARM_UP_STARTS = 50;
// The clock of CPU time is coarse, so many starts are needed, and one at a time would take the reference too long.
const LANES = 16;

const starts = (kind, tty) => ({
  name: `start-${kind.toLowerCase()}`,
  summary: `/bin/true ${tty ? 'in a terminal' : 'over pipes'}: one at a time, then ${LANES} at a time for the CPU`,
  metrics: [
    { name: `start, ${kind}: answered`, unit: 'ms', target: atMost(0.2) },
    { name: `start, ${kind}: closed`, unit: 'ms', target: atMost(0.1) },
    { name: `start, ${kind}: CPU`, unit: 'ms', target: atMost(0.6) },
  ],
  async run(server, effort) {
    const [answered, closed] = await withClient(server, (client) => latencies(client, tty, 1.5 * effort));
    return [median(answered), median(closed), await withClient(server, (client) => cpuMs(server, client, tty, effort))];
  },
});

async function latencies(client, tty, seconds) {
  const [answered, closed] = [[], []];
  await repeatInLanes(LANES, { seconds: 1, atMost: WARM_UP_STARTS }, () => client.run(ARGV, { tty }));
  await repeat({ seconds, atMost: MAX_STARTS }, async () => {
    const { requestedAt, startedAt, closedAt } = await client.run(ARGV, { tty });
    answered.push(startedAt - requestedAt);
    closed.push(closedAt - requestedAt);
  });
  return [answered, closed];
}

async function cpuMs(server, client, tty, effort) {
  const before = server.cpuMs();
  const limits = { seconds: 4 * effort, atMost: MAX_STARTS * effort };
  const { count } = await repeatInLanes(LANES, limits, () => client.run(ARGV, { tty }));
  return (server.cpuMs() - before) / count;
}

export const workloads = [starts('pipes', false), starts('PTY', true)];
