/** Pings, pongs and close frames beyond reason: answered as far as the RFC asks, and never at anybody else's cost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLOSE, frame, PING, PONG, RawPeer, TEXT } from '../support/raw-websocket.ts';
import { Bystander } from './support/bystander.ts';
import { writtenBytes } from './support/proc.ts';
import { RawSession, requestFrame, startParams } from './support/raw-session.ts';
import { MIB, ServerProcess } from './support/server-process.ts';
import { until, untilStill } from './support/until.ts';

const NORMAL = Buffer.from([0x03, 0xe8]);
const CONTINUATION = 0x0;

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start();
});
afterAll(async () => await server[Symbol.asyncDispose]());

/** As many copies as make about this many bytes. */
const repeated = (bytes: Buffer, total: number): Buffer =>
  Buffer.concat(Array(Math.floor(total / bytes.length)).fill(bytes));

describe('pings', () => {
  test('a flood of them is answered at least with the last', async () => {
    await using bystander = new Bystander(await server.connect());
    await using peer = await RawPeer.open(server.url);
    peer.write(repeated(frame(PING, Buffer.alloc(125, 'x')), 4 * MIB), frame(PING, 'last'));
    for (let seen = ''; seen !== 'last'; ) {
      const pong = await peer.next();
      expect(pong?.opcode).toBe(PONG);
      seen = pong?.payload.toString() ?? '';
    }
    await bystander.noticedNothing();
  });

  test('a flood of them by one who reads no answers queues no answers', async () => {
    await using bystander = new Bystander(await server.connect());
    await using session = await RawSession.open(server.url);
    const growth = await server.peakGrowth(async () => {
      const { socket } = session.peer;
      const pings = repeated(frame(PING, Buffer.alloc(125, 'x')), MIB);
      for (let sent = 0; sent < 32; sent += 1) socket.write(pings);
      await until(
        () => socket.writableLength,
        (left) => left === 0,
        'the server to take every ping',
      );
    });
    expect(growth).toBeLessThan(16 * MIB);
    await bystander.noticedNothing();
  });
});

describe('pongs', () => {
  test('a flood of unsolicited ones is ignored', async () => {
    await using bystander = new Bystander(await server.connect());
    await using session = await RawSession.open(server.url);
    const growth = await server.peakGrowth(async () => {
      for (const payload of ['', 'x'.repeat(125), '1', '999999999999999', '-1', '1e3', '\0']) {
        session.peer.write(repeated(frame(PONG, payload), 2 * MIB));
      }
      expect(await session.request('environment/status')).toMatchObject({ result: { status: 'ready' } });
    });
    expect(growth).toBeLessThan(16 * MIB);
    await bystander.noticedNothing();
  });

  test('pongs for pings that were never sent confirm nothing to anybody else and harm only the liar', async () => {
    await using honest = await server.connect();
    await using liar = await RawSession.open(server.url);
    liar.send('process/start', startParams('p', ['head', '-c', '3000000', '/dev/zero']));
    for (let counter = 0; counter < 1_000; counter += 1) liar.peer.write(frame(PONG, String(counter)));
    await liar.until(({ method }) => method === 'process/closed');
    const { result } = await liar.request('process/read', { processId: 'p' });
    expect(result).toMatchObject({ closed: true, exitCode: 0 });
    expect((await honest.run('q', 'head -c 3000000 /dev/zero')).stdout.length).toBe(3_000_000);
  });
});

describe('close frames', () => {
  const CODES: [what: string, payload: Buffer][] = [
    ['without a code', Buffer.alloc(0)],
    ['with 1000', NORMAL],
    ['with 3999 and a text', Buffer.concat([Buffer.from([0x0f, 0x9f]), Buffer.alloc(123, 'x')])],
  ];

  test.each(CODES)('%s: answered with a close frame, then the end', async (_what, payload) => {
    await using peer = await RawPeer.open(server.url);
    peer.write(frame(CLOSE, payload));
    expect(await peer.next()).toMatchObject({ opcode: CLOSE });
    expect(await peer.next()).toBeUndefined();
  });

  test('what follows one is not looked at', async () => {
    await using session = await RawSession.open(server.url);
    const start = requestFrame(9, 'process/start', startParams('p', ['sleep', '300']));
    session.peer.write(frame(CLOSE, NORMAL), start, frame(CLOSE, NORMAL), frame(PING, 'x'), Buffer.alloc(MIB, 0xff));
    await session.closedByServer();
    await server.settled();
  });

  test('one in the middle of a message ends it', async () => {
    await using session = await RawSession.open(server.url);
    session.peer.write(
      frame(TEXT, '{"id":1,', { fin: false }),
      frame(CLOSE, NORMAL),
      frame(CONTINUATION, '"method":"environment/status"}'),
    );
    expect(await session.next()).toBeUndefined();
  });

  test('one before the handshake, and one right behind a start, leave no process', async () => {
    await using early = await RawPeer.open(server.url);
    early.write(frame(CLOSE, NORMAL));
    expect(await early.next()).toMatchObject({ opcode: CLOSE });
    for (let round = 0; round < 10; round += 1) {
      await using session = await RawSession.open(server.url);
      const start = requestFrame(9, 'process/start', startParams('p', ['sleep', '300']));
      session.peer.write(start, frame(CLOSE, NORMAL));
      await session.closedByServer();
    }
    await early[Symbol.asyncDispose]();
    await server.settled();
  });

  test('one from a client that reads nothing while its process floods it ends the connection all the same', async () => {
    await using bystander = new Bystander(await server.connect());
    const session = await RawSession.open(server.url);
    await session.request('process/start', startParams('p', ['yes']));
    const [pid = 0] = server.children;
    await untilStill(() => writtenBytes(pid), 'the process to be held');
    session.peer.write(frame(CLOSE, NORMAL));
    // It never reads: the server has to give up on it alone, then end its session and the process.
    await until(
      () => server.children.length,
      (count) => count === 0,
      'the server to give up',
    );
    await session[Symbol.asyncDispose]();
    await bystander.noticedNothing();
    await bystander[Symbol.asyncDispose]();
    await server.settled();
  });
});
