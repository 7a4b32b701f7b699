/** A server from nothing to its first answer, and what it holds when it has nothing to do. */
import { withClient } from '../client.mjs';
import { atMost } from '../targets.mjs';

const coldStart = {
  name: 'cold-start',
  summary: 'from the spawn to the first connection and the first answer; memory at rest',
  server: 'per repetition',
  // Short and noisy, so each repetition is several.
  times: 4,
  metrics: [
    { name: 'cold start to first TCP connection', unit: 'ms', target: atMost(1.3) },
    { name: 'cold start to first answer', unit: 'ms' },
    { name: 'idle memory', unit: 'MB', target: atMost(0.8) },
  ],
  async run(server) {
    const begin = performance.now();
    const firstAnswerMs = await withClient(server, async () => server.coldStartMs + performance.now() - begin);
    return [server.coldStartMs, firstAnswerMs, await server.restingRssMb()];
  },
};

export const workloads = [coldStart];
