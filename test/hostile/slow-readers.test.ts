/** Clients that do not read what they asked for: they are waited for, cheaply, and nobody else waits with them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer } from '../support/server.ts';
import { Bystander } from './support/bystander.ts';
import { writtenBytes } from './support/proc.ts';
import { RawSession, startParams } from './support/raw-session.ts';
import { MIB, ServerProcess } from './support/server-process.ts';
import { until, untilStill } from './support/until.ts';

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start();
});
afterAll(async () => await server[Symbol.asyncDispose]());

/** Over the target of the design (8 MB), because the heap of a garbage collected server breathes. */
const MAX_GROWTH = 32 * MIB;
/** How long a stalled server is watched, and what it may use meanwhile: timers, the bystander's questions. */
const WATCH_MS = 500;
const MAX_STALLED_CPU_MS = 150;

async function cpuMsWhileStalled(): Promise<number> {
  const before = server.cpuMs;
  await new Promise((resolve) => setTimeout(resolve, WATCH_MS)); // The time itself is what is measured.
  return server.cpuMs - before;
}

const FLOODS: [what: string, argv: string[], more: object][] = [
  ['on pipes', ['yes'], {}],
  ['on both streams', ['sh', '-c', 'yes & exec yes >&2'], {}],
  ['on a terminal', ['yes'], { tty: true }],
  ['in single bytes', ['dd', 'if=/dev/zero', 'bs=1', 'status=none'], {}],
];

test.each(FLOODS)('a client that never reads a flood %s costs neither memory nor time', async (_what, argv, more) => {
  await using session = await RawSession.open(server.url);
  const growth = await server.peakGrowth(async () => {
    await session.request('process/start', startParams('p', argv, { ...more }));
    const [pid = 0] = server.children;
    await untilStill(() => writtenBytes(pid), 'the process to be held');
    expect(await cpuMsWhileStalled()).toBeLessThan(MAX_STALLED_CPU_MS);
  });
  expect(growth).toBeLessThan(MAX_GROWTH);
  await session.reset();
  await server.settled();
});

test('100 floods nobody reads cost neither memory nor time, and a bystander does not notice', async () => {
  await using bystander = new Bystander(await server.connect());
  await using session = await RawSession.open(server.url);
  const growth = await server.peakGrowth(async () => {
    for (let index = 0; index < 100; index += 1) session.send('process/start', startParams(`p${index}`, ['yes']));
    await until(
      () => server.children.length,
      (count) => count === 100,
      '100 processes',
    );
    await untilStill(() => server.children.reduce((sum, pid) => sum + writtenBytes(pid), 0), 'all to be held');
    await bystander.noticedNothing();
    expect(await cpuMsWhileStalled()).toBeLessThan(MAX_STALLED_CPU_MS);
  });
  expect(growth).toBeLessThan(2 * MAX_GROWTH); // Each has read one piece before it was held.
  await session.reset();
  await bystander[Symbol.asyncDispose]();
  await server.settled();
});

test('one that reads on after a long silence has missed nothing', async () => {
  await using session = await RawSession.open(server.url);
  session.answersPings = true;
  const total = 40_000_000;
  await session.request('process/start', startParams('p', ['head', '-c', String(total), '/dev/zero']));
  const [pid = 0] = server.children;
  await untilStill(() => writtenBytes(pid), 'the process to be held');
  const seqs: number[] = [];
  let bytes = 0;
  await session.until(({ method, params }) => {
    seqs.push(Number(params?.seq));
    bytes += Buffer.byteLength(String(params?.chunk ?? ''), 'base64');
    return method === 'process/closed';
  });
  expect(bytes).toBe(total);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
});

test('one that asks for megabytes again and again without reading them is not asked what it wants next', async () => {
  await using session = await RawSession.open(server.url);
  session.send('process/start', startParams('p', ['head', '-c', '1000000', '/dev/zero']));
  await session.until(({ method }) => method === 'process/closed');
  const growth = await server.peakGrowth(async () => {
    for (let index = 0; index < 5_000; index += 1) session.send('process/read', { processId: 'p' });
    await server.served(50);
  });
  expect(growth).toBeLessThan(MAX_GROWTH);
  await using bystander = new Bystander(await server.connect());
  await bystander.noticedNothing();
});

test('one that sends nonsense and reads no refusals is refused only so often', async () => {
  await using bystander = new Bystander(await server.connect());
  await using session = await RawSession.open(server.url);
  const { socket } = session.peer;
  const method = 'x'.repeat(MIB / 4);
  const growth = await server.peakGrowth(async () => {
    for (let index = 0; index < 160; index += 1) session.send(method);
    await untilStill(() => socket.writableLength, 'the server to stop reading');
  });
  // What may be queued of requests (16 MiB) and of messages just arrived (8 MiB) comes on top.
  expect(growth).toBeLessThan(MAX_GROWTH + 64 * MIB);
  await bystander.noticedNothing();
});

test('one that reads everything and confirms nothing still gets everything', async () => {
  await using local = await startServer('websocket', { confirmTimeoutMs: 50 });
  await using session = await RawSession.open(local.url);
  const total = 40_000_000; // Several times what may be unconfirmed.
  session.send('process/start', startParams('p', ['head', '-c', String(total), '/dev/zero']));
  let bytes = 0;
  await session.until(({ method, params }) => {
    bytes += Buffer.byteLength(String(params?.chunk ?? ''), 'base64');
    return method === 'process/closed';
  });
  expect(bytes).toBe(total);
});
