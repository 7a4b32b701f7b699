/** Output as fast as it goes: large writes over pipes and in a terminal, and a program that writes line by line. */
import { withClient } from '../client.mjs';
import { atLeast, atMost } from '../targets.mjs';

const MB = 1e6;
const LINE = 'one line of output, written by a program without a buffer';
// The part printed before the measurement, whatever the effort: a JavaScript server becomes faster as it goes.
const WARM_UP = 0.1;

const zeros = (count) => ({ argv: ['head', '-c', String(count), '/dev/zero'], bytes: count });
const lines = (count) => ({
  argv: ['sh', '-c', `i=0; while [ $i -lt ${count} ]; do echo "${LINE}"; i=$((i+1)); done`],
  bytes: count * (LINE.length + 1),
});

const output = ({ name, summary, label, print, size, tty = false, rate, cpu }) => ({
  name,
  summary,
  metrics: [
    { name: `${label}: rate`, unit: 'MB/s', target: atLeast(rate) },
    { name: `${label}: CPU`, unit: 's/GB', target: atMost(cpu) },
  ],
  run: (server, effort) =>
    withClient(server, async (client) => {
      await runChecked(client, print(size * WARM_UP), tty);
      const before = server.cpuMs();
      const work = print(Math.ceil(size * effort));
      const { requestedAt, closedAt } = await runChecked(client, work, tty);
      const megabytes = work.bytes / MB;
      return [(megabytes * 1000) / (closedAt - requestedAt), (server.cpuMs() - before) / megabytes];
    }),
});

/** A result with a byte too few or too many is no result. */
async function runChecked(client, { argv, bytes }, tty) {
  const done = await client.run(argv, { tty });
  if (done.bytes !== bytes) throw new Error(`${done.bytes} bytes arrived, ${bytes} were printed`);
  return done;
}

export const workloads = [
  output({
    name: 'output-pipes',
    summary: 'zeros over a pipe',
    label: 'output, pipes',
    print: zeros,
    size: 250 * MB,
    rate: 1.2,
    cpu: 0.8,
  }),
  output({
    name: 'output-pty',
    summary: 'zeros through a terminal',
    label: 'output, PTY',
    print: zeros,
    size: 60 * MB,
    tty: true,
    rate: 1,
    cpu: 0.9,
  }),
  output({
    name: 'output-lines',
    summary: 'one write per line, over a pipe',
    label: 'output, one write per line',
    print: lines,
    size: 150_000,
    rate: 1.2,
    cpu: 0.5,
  }),
];
