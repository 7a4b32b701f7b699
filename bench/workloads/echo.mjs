/** A key pressed in a terminal until what it prints is back. */
import { withClient } from '../client.mjs';
import { median, percentile, repeat } from '../statistics.mjs';
import { atMost } from '../targets.mjs';

const READY = 'ready';
const TYPED = 'hello';
// The terminal turns a line feed into two bytes.
const LINE_END_BYTES = 2;
const MAX_ECHOES = 500;

const echo = {
  name: 'echo-pty',
  summary: 'a line written to cat in a terminal, until it comes back',
  metrics: [
    { name: 'echo, PTY: median', unit: 'ms', target: atMost(0.05) },
    { name: 'echo, PTY: 95 %', unit: 'ms' },
  ],
  run: (server, effort) =>
    withClient(server, async (client) => {
      const cat = await client.start(['sh', '-c', `stty -echo; echo ${READY}; exec cat`], { tty: true });
      let expected = READY.length + LINE_END_BYTES;
      await printed(cat, expected);
      const samples = [];
      await repeat({ seconds: 1.5 * effort, atMost: MAX_ECHOES }, async (turn) => {
        expected += TYPED.length + LINE_END_BYTES;
        const begin = performance.now();
        const echoed = printed(cat, expected);
        const chunk = Buffer.from(`${TYPED}\n`).toString('base64');
        const written = client.call('process/write', { processId: cat.id, chunk, writeId: `write-${turn}` });
        await echoed;
        samples.push(performance.now() - begin);
        await written;
      });
      await client.call('process/terminate', { processId: cat.id });
      await cat.ended;
      return [median(samples), percentile(samples, 0.95)];
    }),
};

function printed(running, bytes) {
  return new Promise((resolve, reject) => {
    running.ended.catch(reject);
    running.onOutput = () => {
      if (running.bytes >= bytes) resolve();
    };
    running.onOutput();
  });
}

export const workloads = [echo];
