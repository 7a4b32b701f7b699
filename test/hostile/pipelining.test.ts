/** More requests at once than anybody could mean: what waits is bounded, in number and in bytes, and so is its cost. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startServer } from '../support/server.ts';
import { Bystander } from './support/bystander.ts';
import { RawSession, requestFrame, startParams } from './support/raw-session.ts';
import { MIB, ServerProcess } from './support/server-process.ts';
import { until, untilStill } from './support/until.ts';

// One each, because a heap that was large once hides what the next test makes it grow.
let server: ServerProcess;
beforeEach(async () => {
  server = await ServerProcess.start();
});
afterEach(async () => await server[Symbol.asyncDispose]());

const FOUR_MIB = Buffer.alloc(4 * MIB, 'x').toString('base64');
const writeOf = (index: number, processId: string): Buffer =>
  requestFrame(1_000 + index, 'process/write', { processId, chunk: FOUR_MIB, writeId: String(index) });

/** A socket that takes nothing for this long belongs to a server that has stopped reading. */
const STOPPED_MS = 500;

/** Sends as fast as the server takes it, and no more once it has stopped; returns how many bytes it took. */
async function push(session: RawSession, frames: Iterable<Buffer>): Promise<number> {
  const { socket } = session.peer;
  const before = socket.bytesWritten;
  for (const bytes of frames) {
    if (socket.write(bytes)) continue;
    const isTaken = await Promise.race([
      once(socket, 'drain').then(() => true),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(false), STOPPED_MS)),
    ]);
    if (!isTaken) break;
  }
  return socket.bytesWritten - socket.writableLength - before;
}

function* times<T>(count: number, make: (index: number) => T): Iterable<T> {
  for (let index = 0; index < count; index += 1) yield make(index);
}

describe('long polls', () => {
  const poll = (index: number, more: object = {}): Buffer =>
    requestFrame(1_000 + index, 'process/read', { processId: 'p', waitMs: 60_000, ...more });

  test('10,000 of them on a silent process are bounded and hold up nobody', async () => {
    await using bystander = new Bystander(await server.connect());
    await using session = await RawSession.open(server.url);
    await session.request('process/start', startParams('p', ['sleep', '300']));
    const growth = await server.peakGrowth(async () => {
      await push(
        session,
        times(10_000, (index) => poll(index)),
      );
      await untilStill(() => server.rss, 'the server to have read them');
    });
    expect(growth).toBeLessThan(48 * MIB);
    await bystander.noticedNothing();
  });

  test.each(['end', 'reset'] as const)(
    'a client that leaves 10,000 of them behind (%s) is soon missed',
    async (how) => {
      await using local = await startServer('websocket', { pingIntervalMs: 100, sessionGraceMs: 1 });
      await using session = await RawSession.open(local.url);
      const script = 'echo $$; exec sleep 300';
      session.send('process/start', startParams('p', ['sh', '-c', script]));
      const { params } = await session.until(({ method }) => method === 'process/output');
      const pid = Number(Buffer.from(String(params?.chunk), 'base64').toString());
      await push(
        session,
        times(10_000, (index) => poll(index, { afterSeq: 1 })),
      );
      if (how === 'reset') await session.reset();
      else await session[Symbol.asyncDispose]();
      await until(
        () => existsSync(`/proc/${pid}`),
        (isThere) => !isThere,
        'the process to be ended',
      );
    },
  );

  test('a dozen of them put no warning into the log', async () => {
    const client = await server.connect();
    await client.start('p', ['sleep', '300']);
    const polls = Array.from({ length: 12 }, () => client.request('process/read', { processId: 'p', waitMs: 60_000 }));
    await client.request('process/terminate', { processId: 'p' });
    await Promise.all(polls);
    expect(server.log).not.toContain('Warning');
  });

  /** Starts a process that waits for a line, and polls for what comes after `afterSeq` until the server has them all. */
  async function pollBefore(session: RawSession, script: string, afterSeq: number): Promise<void> {
    const argv = ['sh', '-c', `read line; ${script}`];
    await session.request('process/start', startParams('p', argv, { pipeStdin: true }));
    session.peer.write(...times(4_000, (index) => poll(index, { afterSeq })));
    await session.request('environment/status');
  }
  const go = (session: RawSession): unknown =>
    session.send('process/write', { processId: 'p', chunk: 'Cg==', writeId: '1' });

  test('4,000 of them that are answered at once are not all written at once', async () => {
    await using session = await RawSession.open(server.url);
    await pollBefore(session, 'exec head -c 65536 /dev/zero', 0);
    const growth = await server.peakGrowth(async () => {
      go(session);
      await until(
        () => server.children.length,
        (count) => count === 0,
        'the process to end',
      );
      await server.served();
    });
    expect(growth).toBeLessThan(64 * MIB);
  });

  test('4,000 of them for a number that never comes do not make output expensive', async () => {
    await using bystander = new Bystander(await server.connect());
    await using session = await RawSession.open(server.url);
    session.answersPings = true;
    await pollBefore(session, 'exec yes', 1e15);
    const before = server.cpuMs;
    go(session);
    for (let seen = 0; seen < 400; seen += 1) await session.until(({ method }) => method === 'process/output');
    // Some 5 ms for a chunk that wakes them all; looking for each in a list of all would take ten times that.
    expect(server.cpuMs - before).toBeLessThan(2_500);
    await bystander.noticedNothing();
  });

  test('reads that waited behind them are answered no faster than they are taken', async () => {
    await using bystander = new Bystander(await server.connect());
    await using session = await RawSession.open(server.url);
    session.send('process/start', startParams('big', ['head', '-c', '1000000', '/dev/zero']));
    await session.until(({ method }) => method === 'process/closed');
    await session.request('process/start', startParams('p', ['sleep', '300']));
    const read = (index: number): Buffer => requestFrame(9_000 + index, 'process/read', { processId: 'big' });
    await push(
      session,
      times(4_200, (index) => poll(index)),
    );
    await push(session, times(800, read));
    const growth = await server.peakGrowth(async () => {
      session.send('process/terminate', { processId: 'p' });
      await until(
        () => server.children.length,
        (count) => count === 0,
        'the process to end',
      );
      await server.served();
    });
    expect(growth).toBeLessThan(64 * MIB);
    await bystander.noticedNothing();
  });

  test('refusals that wait behind them are counted for what they hold', async () => {
    await using session = await RawSession.open(server.url);
    await session.request('process/start', startParams('p', ['sleep', '300']));
    await push(
      session,
      times(4_200, (index) => poll(index)),
    );
    await session.request('environment/status');
    const unknown = requestFrame(9_000, 'x'.repeat(MIB));
    let taken = 0;
    const growth = await server.peakGrowth(async () => {
      taken = await push(
        session,
        times(200, () => unknown),
      );
    });
    // 16 MiB of queued requests and 8 that just arrived, and what the kernel holds.
    expect(taken).toBeLessThan(64 * MIB);
    expect(growth).toBeLessThan(96 * MIB);
  });
});

describe('writes of 4 MiB', () => {
  test('400 of them to a child that never reads are left in the sender’s hands', async () => {
    await using bystander = new Bystander(await server.connect());
    await using session = await RawSession.open(server.url);
    await session.request('process/start', startParams('p', ['sleep', '300'], { pipeStdin: true }));
    let taken = 0;
    const growth = await server.peakGrowth(async () => {
      taken = await push(
        session,
        times(400, (index) => writeOf(index, 'p')),
      );
    });
    // 16 MiB in the child's queue, 32 that wait for it, 16 queued, 8 just arrived, and one message over each.
    expect(taken).toBeLessThan(200 * MIB);
    expect(growth).toBeLessThan(176 * MIB);
    await bystander.noticedNothing();
  });

  test('60 of them that are done with are not kept', async () => {
    await using session = await RawSession.open(server.url);
    const growth = await server.peakGrowth(async () => {
      for (let index = 0; index < 60; index += 1) {
        session.peer.write(writeOf(index, 'nobody'));
        expect(await session.next()).toMatchObject({ result: { status: 'unknownProcess' } });
      }
    });
    // One keeps what it came in until the next collection, which takes its time; all of them would be 340 MB.
    expect(growth).toBeLessThan(192 * MIB);
  });

  test('one after the other to a child that reads, more than all limits together, arrive whole', async () => {
    await using session = await RawSession.open(server.url);
    session.answersPings = true;
    await session.request(
      'process/start',
      startParams('p', ['sh', '-c', 'head -c 83886080 | md5sum'], { pipeStdin: true }),
    );
    session.peer.write(...times(20, (index) => writeOf(index, 'p')));
    const printed = await session.until(({ method }) => method === 'process/output');
    const expected = createHash('md5')
      .update(Buffer.alloc(80 * MIB, 'x'))
      .digest('hex');
    expect(Buffer.from(String(printed.params?.chunk), 'base64').toString()).toContain(expected);
  });
});

test('50,000 requests as fast as they can be sent are all answered, in order, and leave nothing', async () => {
  await using bystander = new Bystander(await server.connect());
  await using session = await RawSession.open(server.url);
  const growth = await server.peakGrowth(async () => {
    for (let batch = 0; batch < 50; batch += 1) {
      const frames = times(1_000, (index) => requestFrame(batch * 1_000 + index, 'process/read', { processId: 'x' }));
      session.peer.write(Buffer.concat([...frames]));
    }
    for (let id = 0; id < 50_000; id += 1) {
      const answer = await session.next();
      if (answer?.id !== id) expect(answer).toMatchObject({ id });
    }
  });
  expect(growth).toBeLessThan(48 * MIB);
  await bystander.noticedNothing();
});
