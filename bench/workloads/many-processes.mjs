/** Whether a server grows with the number of processes it has seen. */
import { withClient } from '../client.mjs';
import { repeatInLanes } from '../statistics.mjs';

const PROCESSES = 1000;
const LANES = 16;
const MAX_SECONDS = 40;
const ARGV = ['/bin/echo', 'x'.repeat(200)];

const manyProcesses = {
  name: 'many-processes',
  summary: `${PROCESSES} processes of one client, ${LANES} at a time`,
  server: 'per repetition',
  metrics: [
    { name: `${PROCESSES} processes: memory growth`, unit: 'MB' },
    { name: `${PROCESSES} processes: rate`, unit: '/s' },
  ],
  run: (server, effort) =>
    withClient(server, async (client) => {
      const before = await server.restingRssMb();
      const wanted = Math.ceil(PROCESSES * effort);
      const { count, seconds } = await repeatInLanes(LANES, { seconds: MAX_SECONDS, atMost: wanted }, () =>
        client.run(ARGV),
      );
      if (count < wanted) throw new Error(`only ${count} processes in ${MAX_SECONDS} s`);
      return [(await server.restingRssMb()) - before, count / seconds];
    }),
};

export const workloads = [manyProcesses];
