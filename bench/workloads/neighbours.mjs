/** What one client does to the others and to the server: one that stops reading, and one that takes all it can get. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { withClient } from '../client.mjs';
import { median, percentile, repeat, sleep } from '../statistics.mjs';
import { limit } from '../targets.mjs';

const MB = 1e6;
const zeros = (bytes) => ['head', '-c', String(bytes), '/dev/zero'];

const stalledClient = {
  name: 'stalled-client',
  summary: 'a client starts a program that prints 2 GB and stops reading; another client goes on asking',
  // What a stalled client leaves behind must not count for the next one.
  server: 'per repetition',
  metrics: [
    { name: 'client that stops reading: memory growth', unit: 'MB', target: limit(8, 'MB') },
    { name: 'client that stops reading: CPU', unit: 'ms/s' },
    { name: 'client that stops reading: answer to another', unit: 'ms' },
  ],
  run: (server, effort) =>
    withClient(server, (other) =>
      withClient(server, async (stalled) => {
        // Growth is counted from a server that has done all of this before.
        await stalled.run(zeros(20 * MB));
        await repeat({ seconds: 0.3 * effort }, () => other.noOp());
        const before = await server.restingRssMb();
        const flood = await stalled.start(zeros(2000 * MB));
        stalled.stopReading();
        const samples = [];
        let peak = before;
        await repeat({ seconds: 1.5 * effort }, async () => {
          samples.push(await answerMs(other));
          peak = Math.max(peak, server.rssMb());
          await sleep(20);
        });
        const cpuBefore = server.cpuMs();
        const seconds = Math.max(0.3, effort);
        await sleep(seconds * 1000);
        const cpu = server.cpuMs() - cpuBefore;
        if (!Number.isNaN(flood.closedAt)) throw new Error('the client did not stop reading');
        return [peak - before, cpu / seconds, median(samples)];
      }),
    ),
};

const busyServer = {
  name: 'busy-server',
  summary: 'a client takes output as fast as it comes; another one asks',
  metrics: [
    { name: 'answer to another client during a flood: median', unit: 'ms' },
    { name: 'answer to another client during a flood: 95 %', unit: 'ms' },
  ],
  run: (server, effort) =>
    withClient(server, async (other) => {
      const samples = [];
      // In a thread of its own, or the wait for this thread would be measured too.
      const flood = new Worker(new URL('../flood-worker.mjs', import.meta.url), {
        workerData: { url: server.url, argv: zeros(Math.ceil(300 * MB * effort)) },
      });
      const over = once(flood, 'exit');
      let isOver = false;
      await Promise.all([
        over.then(() => {
          isOver = true;
        }),
        once(flood, 'message').then(async () => {
          while (!isOver) {
            samples.push(await answerMs(other));
            await sleep(2);
          }
        }),
      ]);
      return [median(samples), percentile(samples, 0.95)];
    }),
};

async function answerMs(client) {
  const begin = performance.now();
  await client.noOp();
  return performance.now() - begin;
}

export const workloads = [stalledClient, busyServer];
