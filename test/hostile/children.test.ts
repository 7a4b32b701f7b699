/** Commands that fight back: they fork, escape, refuse to die or die oddly. Their client sees an end, and it is one. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestClient } from '../support/client.ts';
import { marked, newMark, untilMarked } from './support/marked.ts';
import { ServerProcess } from './support/server-process.ts';

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start();
});
afterAll(async () => await server[Symbol.asyncDispose]());

const terminate = (client: TestClient, processId: string): Promise<{ running: boolean }> =>
  client.request('process/terminate', { processId });

/** One exit, one close, nothing after it, and no number left out. */
function expectOneEnd(client: TestClient, processId: string): void {
  const events = client.events(processId);
  expect(events.map(({ params }) => params.seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ method }) => method === 'process/exited')).toHaveLength(1);
  expect(events.filter(({ method }) => method === 'process/closed')).toHaveLength(1);
  expect(events.at(-1)?.method).toBe('process/closed');
}

describe.each([
  ['pipes', false, 137],
  ['a terminal', true, 1],
])('on %s', (_where, tty, killed) => {
  const UNWILLING: [what: string, script: (mark: string) => string, count: number][] = [
    [
      'one that ignores every signal it can',
      (mark) => `trap '' HUP INT QUIT TERM USR1 USR2 PIPE; sleep ${mark} & echo ready; wait; wait`,
      1,
    ],
    ['one that has stopped itself', (mark) => `sleep ${mark} & echo ready; kill -STOP $$`, 1],
    ['a family of 50', (mark) => `for i in $(seq 50); do sleep ${mark} & done; echo ready; wait`, 50],
    [
      'three generations of 4',
      (mark) =>
        `g() { [ $1 = 0 ] && exec sleep ${mark}; for i in 1 2 3 4; do (g $(($1 - 1))) & done; wait; }; (g 3) & echo ready; wait`,
      64,
    ],
    [
      'one that closed its output and its input',
      (mark) => `echo ready; exec sleep ${mark} </dev/null >/dev/null 2>&1`,
      1,
    ],
  ];

  test.each(UNWILLING)('%s is ended by terminate, to the last descendant', async (_what, script, count) => {
    await using client = await server.connect();
    const mark = newMark();
    await client.start('p', ['sh', '-c', script(mark)], { tty });
    await client.notification(() => /ready/.test(client.output('p', tty ? 'pty' : 'stdout')));
    await untilMarked(mark, count);
    expect(await terminate(client, 'p')).toEqual({ running: true });
    expect((await client.finished('p')).exitCode).toBe(killed);
    expectOneEnd(client, 'p');
    await untilMarked(mark, 0);
  });

  test.each(UNWILLING)('%s is ended with its session', async (_what, script, count) => {
    await using client = await server.connect();
    const mark = newMark();
    await client.start('p', ['sh', '-c', script(mark)], { tty });
    await untilMarked(mark, count);
    await client.drop();
    await untilMarked(mark, 0);
    await server.settled();
  });

  test('one that never stops forking is ended in the middle of it', async () => {
    await using client = await server.connect();
    const mark = newMark();
    const script = `i=0; while [ $i -lt 400 ]; do sleep ${mark} & i=$((i+1)); [ $i = 30 ] && echo ready; done; wait`;
    await client.start('p', ['sh', '-c', script], { tty });
    await client.notification(() => /ready/.test(client.output('p', tty ? 'pty' : 'stdout')));
    await terminate(client, 'p');
    await client.finished('p');
    expectOneEnd(client, 'p');
    await untilMarked(mark, 0);
  });

  test('one that escaped into a session of its own and holds the output does not hold up the end', async () => {
    await using client = await server.connect();
    const mark = newMark();
    await client.start('p', ['sh', '-c', `trap '' HUP; setsid sleep ${mark} & wait`], { tty });
    const escaped = await untilMarked(mark, 1);
    try {
      expect(await terminate(client, 'p')).toEqual({ running: true });
      expect((await client.finished('p')).exitCode).toBe(killed);
      expectOneEnd(client, 'p');
      await client.drop();
      await server.settled();
    } finally {
      for (const pid of escaped) process.kill(pid, 'SIGKILL'); // Out of the server's reach, as it wanted to be.
    }
    await untilMarked(mark, 0);
  });

  test('terminate twice, and once more when all is over, ends it once', async () => {
    await using client = await server.connect();
    await client.start('p', ['sleep', '300'], { tty });
    const answers = await Promise.all([terminate(client, 'p'), terminate(client, 'p'), terminate(client, 'p')]);
    expect(answers[0]).toEqual({ running: true });
    await client.finished('p');
    expect(await terminate(client, 'p')).toEqual({ running: false });
    expectOneEnd(client, 'p');
  });
});

test('an escaped flood dies of its closed pipe', async () => {
  await using client = await server.connect();
  const mark = newMark();
  await client.start('p', ['sh', '-c', `setsid yes ${mark} & wait`]);
  await untilMarked(mark, 1);
  await terminate(client, 'p');
  await client.finished('p');
  await untilMarked(mark, 0);
});

test('what a finished command left behind is ended with the session, and not before', async () => {
  await using client = await server.connect();
  const mark = newMark();
  await client.start('p', ['sh', '-c', `sleep ${mark} & exit 3`]);
  await untilMarked(mark, 1);
  const { params } = await client.notification(({ method }) => method === 'process/exited');
  expect(params.exitCode).toBe(3);
  expect(await terminate(client, 'p')).toEqual({ running: false });
  expect(marked(mark)).toHaveLength(1);
  await client.drop();
  await untilMarked(mark, 0);
  await server.settled();
});

test.each([
  ['a real-time signal', 'kill -40 $$'],
  ['a signal to its whole group', 'kill -KILL 0'],
  ['closing everything and leaving later', 'exec <&- >&- 2>&-; sleep 0.1; exit 5'],
  ['replacing itself by nothing', 'exec /dev/null'],
])('a command that ends by %s is seen to end', async (_how, script) => {
  await using client = await server.connect();
  await client.run('p', script);
  expectOneEnd(client, 'p');
});

test('50 terminals at once are opened, ended and given back', async () => {
  await using client = await server.connect();
  const mark = newMark();
  const ids = Array.from({ length: 50 }, (_, index) => `p${index}`);
  await Promise.all(ids.map((id) => client.start(id, ['sleep', mark], { tty: true })));
  await untilMarked(mark, 50);
  await Promise.all(ids.map((id) => terminate(client, id)));
  await Promise.all(ids.map((id) => client.finished(id)));
  for (const id of ids) expectOneEnd(client, id);
  await client.drop();
  await server.settled();
});

test('SIGTERM to the server in the middle of 50 starts leaves nothing behind', async () => {
  const mark = newMark();
  {
    await using doomed = await ServerProcess.start();
    const client = await doomed.connect();
    const ids = Array.from({ length: 50 }, (_, index) => `p${index}`);
    const starts = ids.map((id) => client.start(id, ['sh', '-c', `trap '' TERM; sleep ${mark} & wait; wait`]));
    void Promise.allSettled(starts); // How far they come is left to chance.
    await Promise.race(starts);
  }
  await untilMarked(mark, 0);
});
