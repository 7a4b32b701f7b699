/** Clients that come and go as no honest one would: nothing is left of them, and the limits hold. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSpawner } from '../../src/process/choose-spawner.ts';
import type { Spawner } from '../../src/process/spawner.ts';
import { deferred } from '../../src/util/deferred.ts';
import { RpcError } from '../support/client.ts';
import { CLOSE, frame, PING } from '../support/raw-websocket.ts';
import { startServer } from '../support/server.ts';
import { TEST_SPAWNER } from '../support/spawner.ts';
import { Bystander } from './support/bystander.ts';
import { newMark, untilMarked } from './support/marked.ts';
import { RawSession, requestFrame, startParams } from './support/raw-session.ts';
import { MIB, ServerProcess } from './support/server-process.ts';
import { until } from './support/until.ts';

const failure = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => 'no failure',
    (error: unknown) => (error instanceof RpcError ? `${error.code} ${error.message}` : String(error)),
  );

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start(['--max-processes', '20']);
});
afterAll(async () => await server[Symbol.asyncDispose]());

describe('connections', () => {
  const GOODBYES: [what: string, leave: (session: RawSession) => Promise<void>][] = [
    ['reset', (session) => session.reset()],
    ['ended', (session) => session[Symbol.asyncDispose]()],
    [
      'closed',
      async (session) => {
        session.peer.write(frame(CLOSE, Buffer.from([0x03, 0xe8])));
        await session.closedByServer();
      },
    ],
  ];

  test('1,000 that come and go leave no descriptor and no memory', async () => {
    await using bystander = new Bystander(await server.connect());
    const growth = await server.peakGrowth(async () => {
      for (let round = 0; round < 50; round += 1) {
        const sessions = await Promise.all(Array.from({ length: 20 }, () => RawSession.open(server.url)));
        await Promise.all(sessions.map((session, index) => GOODBYES[(round + index) % 3]?.[1](session)));
      }
    });
    expect(growth).toBeLessThan(48 * MIB);
    await bystander.noticedNothing();
    await bystander[Symbol.asyncDispose]();
    await server.settled();
  });

  test.each(GOODBYES)('200 that are %s in the middle of a start leave no process', async (_what, leave) => {
    const mark = newMark();
    for (let round = 0; round < 10; round += 1) {
      const sessions = await Promise.all(Array.from({ length: 20 }, () => RawSession.open(server.url)));
      await Promise.all(
        sessions.map(async (session, index) => {
          const terminal = { tty: index % 10 === 0 };
          const start = requestFrame(9, 'process/start', startParams('p', ['sleep', mark], terminal));
          session.peer.write(start, frame(PING, 'read it'));
          // A pong is sent as soon as the ping was read, so the start is on its way and not answered yet, or just now.
          await session.pong();
          await leave(session);
        }),
      );
    }
    await server.settled();
    await untilMarked(mark, 0);
  });

  test('one that goes while its start is still being worked on leaves no process, however late that is', async () => {
    const mark = newMark();
    const gate = deferred();
    const inner = createSpawner(TEST_SPAWNER);
    let spawned = 0;
    const spawner: Spawner = {
      name: inner.name,
      spawn: async (request) => {
        await gate.promise;
        spawned += 1;
        return await inner.spawn(request);
      },
    };
    await using local = await startServer('websocket', { spawner, sessionGraceMs: 1 });
    const sessions = await Promise.all(Array.from({ length: 20 }, () => RawSession.open(local.url)));
    for (const session of sessions) session.send('process/start', startParams('p', ['sleep', mark]));
    for (const session of sessions) session.peer.write(frame(CLOSE, ''));
    for (const session of sessions) await session.closedByServer();
    const late = await local.open();
    for (const { sessionId } of sessions) {
      await until(
        () => failure(late.initialize(sessionId)),
        (text) => text.startsWith('-32600'),
        'the session to end',
      );
    }
    gate.resolve();
    await until(
      () => spawned,
      (count) => count === 20,
      'the starts to go on',
    );
    await untilMarked(mark, 0);
  });
});

describe('limits', () => {
  test('sessions beyond the limit are refused, whoever asks, until others are over', async () => {
    await using limited = await ServerProcess.start(['--max-sessions', '20']);
    for (let round = 0; round < 4; round += 1) {
      const held = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const client = await limited.open();
          await until(
            () => failure(client.initialize()),
            (text) => text === 'no failure',
            'a session',
          );
          return client;
        }),
      );
      const late = await limited.open();
      expect(await failure(late.initialize())).toMatch(/^-32603 session limit reached \(20\)/);
      expect(await failure(late.request('environment/status'))).toMatch(/^-32600 /);
      for (const client of [...held, late]) await client.drop();
    }
    await limited.settled();
  });

  test('of 100 starts sent at once exactly as many run as may', async () => {
    const mark = newMark();
    await using session = await RawSession.open(server.url);
    for (let index = 0; index < 100; index += 1)
      session.send('process/start', startParams(`p${index}`, ['sleep', mark]));
    const codes: unknown[] = [];
    while (codes.length < 100) {
      const { id, error } = (await session.next()) ?? {};
      if (id !== undefined) codes.push(error ? `${error.code} ${error.message.slice(0, 26)}` : 'started');
    }
    expect(codes).toEqual([...Array(20).fill('started'), ...Array(80).fill('-32603 process limit reached (20 ')]);
    await untilMarked(mark, 20);
    await session.reset();
    await untilMarked(mark, 0);
    await server.settled();
  });
});

describe('initialize', () => {
  test('2,000 guesses at a session id are all wrong, and the next call is served', async () => {
    await using bystander = new Bystander(await server.connect());
    await using client = await server.open();
    const guesses = [
      '',
      '__proto__',
      'constructor',
      '\0',
      'x'.repeat(100_000),
      ...Array.from({ length: 1_995 }, () => randomUUID()),
    ];
    const outcomes = await Promise.all(
      guesses.map((id) => failure(client.request('initialize', { clientName: 'x', resumeSessionId: id }))),
    );
    expect(outcomes).toEqual(guesses.map((id) => `-32600 unknown session id ${id}`));
    await client.initialize();
    expect(await client.request('environment/status')).toEqual({ status: 'ready' });
    await bystander.noticedNothing();
  });

  test('a thousand more after the first are refused and change nothing', async () => {
    await using client = await server.connect();
    const { sessionId } = client;
    const again = { clientName: 'x', resumeSessionId: sessionId };
    const outcomes = await Promise.all(
      Array.from({ length: 1_000 }, () => failure(client.request('initialize', again))),
    );
    expect(new Set(outcomes)).toEqual(new Set(['-32600 initialize may only be sent once per connection']));
    expect((await client.run('p', 'echo still here')).stdout).toBe('still here\n');
  });

  test('of 20 that want the same session at once one gets it, every time', async () => {
    const owner = await server.connect();
    await owner.start('p', ['sleep', '300']);
    const refusal = `-32010 session ${owner.sessionId} is already attached to another connection`;
    let last = owner;
    for (let round = 0; round < 10; round += 1) {
      const rivals = await Promise.all(Array.from({ length: 20 }, () => server.open()));
      await last.drop();
      const outcomes = await Promise.all(rivals.map((rival) => failure(rival.initialize(owner.sessionId))));
      expect(outcomes.toSorted()).toEqual([...Array(19).fill(refusal), 'no failure']);
      last = rivals[outcomes.indexOf('no failure')] ?? owner;
      expect(await last.request('process/read', { processId: 'p' })).toMatchObject({ exited: false });
      for (const rival of rivals) if (rival !== last) await rival.drop();
    }
    await last.drop();
    await server.settled();
  });
});

test('a resume at the very end of the grace gets all of the session or nothing of it', async () => {
  const graceMs = 20;
  await using local = await startServer('websocket', { sessionGraceMs: graceMs });
  const mark = newMark();
  const seen = new Set<string>();
  for (let round = 0; round < 40; round += 1) {
    const first = await local.connect();
    await first.start('p', ['sleep', mark]);
    const second = await local.open();
    await first.drop();
    // Around the moment itself; which side of it is left to chance.
    await new Promise((resolve) => setTimeout(resolve, graceMs - 4 + (round % 8)));
    const outcome = await failure(second.initialize(first.sessionId));
    seen.add(outcome.replace(first.sessionId, 'ID'));
    if (outcome === 'no failure') {
      expect(await second.request('process/read', { processId: 'p' })).toMatchObject({ exited: false, nextSeq: 1 });
      expect(await second.request('process/terminate', { processId: 'p' })).toEqual({ running: true });
      await second.finished('p');
    }
    await second.drop();
  }
  expect(['no failure', '-32600 unknown session id ID']).toEqual(expect.arrayContaining([...seen]));
  await untilMarked(mark, 0);
});
