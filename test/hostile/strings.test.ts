/** Strings nobody would choose, in every place that takes one: names of things in JavaScript, NULs, bytes, megabytes. */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RpcError, type TestClient } from '../support/client.ts';
import { BINARY, frame, TEXT } from '../support/raw-websocket.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { RawSession, requestFrame, startParams } from './support/raw-session.ts';
import { MIB, ServerProcess } from './support/server-process.ts';
import { untilStill } from './support/until.ts';

const failure = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => 'no failure',
    (error: unknown) => (error instanceof RpcError ? `${error.code} ${error.message}` : String(error)),
  );

let server: TestServer;
beforeAll(async () => {
  server = await startServer('websocket');
});
afterAll(async () => await server[Symbol.asyncDispose]());

const NAMES = [
  '',
  ' ',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'prototype',
  'then',
  '0',
  '\0',
  '\n"\\',
  '\u{1f600}\u202e\ufeff\ufffe',
  '../../etc/passwd',
  '$PATH $(id) `id`',
];

test('process ids of any kind are just ids, all in one session', async () => {
  await using client = await server.connect();
  const write = (processId: string, writeId: string, text: string): Promise<unknown> =>
    client.request('process/write', { processId, writeId, chunk: Buffer.from(text).toString('base64') });
  for (const id of NAMES)
    expect(await failure(client.request('process/read', { processId: id }))).toBe(`-32600 unknown process id ${id}`);
  for (const id of NAMES) await client.start(id, ['cat'], { pipeStdin: true });
  for (const id of NAMES) expect(await failure(client.start(id, ['cat']))).toBe(`-32600 process ${id} already exists`);
  for (const [index, id] of NAMES.entries()) {
    // Every name serves as a write id, too; the empty one is none.
    const ids = NAMES.filter((name) => name !== '');
    for (const writeId of [...ids, ...ids])
      expect(await write(id, writeId, `${index},`)).toEqual({ status: 'accepted' });
    expect(await failure(write(id, '', 'x'))).toBe('-32602 writeId must not be empty');
    const expected = `${index},`.repeat(ids.length);
    await client.notification(() => client.output(id, 'stdout').length >= expected.length);
    expect(await client.request('process/terminate', { processId: id })).toEqual({ running: true });
    expect(await client.finished(id)).toMatchObject({ stdout: expected, exitCode: 137 });
  }
});

test('client names of any kind are taken and forgotten', async () => {
  for (const clientName of [...NAMES, 'x'.repeat(MIB)]) {
    await using client = await server.open();
    await client.initialize(undefined, { clientName });
    expect(await client.request('environment/status')).toEqual({ status: 'ready' });
  }
});

describe('environments', () => {
  /** What the child finds in its environment, sent as it is written here. */
  async function environment(env: string, more = ''): Promise<string> {
    await using session = await RawSession.open(server.url);
    const params = `{"processId":"p","argv":["/usr/bin/env","-0"],"cwd":"file:///tmp","env":${env},"tty":false${more}}`;
    session.peer.write(frame(TEXT, `{"id":7,"method":"process/start","params":${params}}`));
    let printed = '';
    await session.until(({ method, params: event, error }) => {
      if (error) printed = `${error.code} ${error.message}`;
      if (method === 'process/output') printed += Buffer.from(String(event?.chunk), 'base64').toString();
      return error !== undefined || method === 'process/closed';
    });
    return printed;
  }

  test('`__proto__` and its like are ordinary variables', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const env = `{${names.map((name) => `"${name}":"of ${name}"`).join()}}`;
    expect(new Set((await environment(env)).split('\0'))).toEqual(
      new Set([...names.map((name) => `${name}=of ${name}`), '']),
    );
  });

  test('`__proto__` is an ordinary variable where a policy sets it', async () => {
    const policy =
      ',"envPolicy":{"inherit":"none","ignoreDefaultExcludes":true,"exclude":[],"set":{"__proto__":"x"},"includeOnly":[]}';
    expect(await environment('{}', policy)).toBe('__proto__=x\0');
  });

  test('names with an equals sign, and the empty name, are passed on as they are', async () => {
    expect((await environment('{"A=B":"b"}')).split('\0')).toContain('A=B=b');
    expect((await environment('{"":"b"}')).split('\0')).toContain('=b');
  });

  test.each(['{"A\\u0000B":"x"}', '{"A":"x\\u0000y"}', '{"\\u0000":""}'])('a NUL in %s is refused', async (env) => {
    expect(await environment(env)).toBe('-32603 data provided contains a nul byte');
  });

  test('one that is larger than the system takes is refused with the system’s words', async () => {
    expect(await environment(`{"A":"${'x'.repeat(4 * MIB)}"}`)).toBe('-32603 Argument list too long (os error 7)');
  });
});

describe('NULs and odd bytes in a start', () => {
  const NUL_REFUSED = '-32603 nul byte found in provided data';
  const CASES: [what: string, more: Record<string, unknown>, expected: RegExp | string][] = [
    ['the program', { argv: ['tr\0ue'] }, NUL_REFUSED],
    ['an argument', { argv: ['true', '\0'] }, NUL_REFUSED],
    ['an argument, on a terminal', { argv: ['true', '\0'], tty: true }, NUL_REFUSED],
    ['arg0', { arg0: 'a\0b' }, NUL_REFUSED],
    ['the folder', { cwd: 'file:///tmp/%00' }, /^-32602 .*'file:\/\/\/tmp\/%00' is invalid on 'linux'$/],
    ['the folder, raw', { cwd: 'file:///t\0mp' }, /^-32602 .* is invalid on 'linux'$/],
    ['a folder that is not UTF-8', { cwd: 'file:///tmp/%ff%fe' }, /^-3260[23] /],
    [
      'a folder on another host',
      { cwd: 'file://evil/tmp' },
      /^-32602 cwd URI `file:\/\/evil\/tmp` is not valid on this exec-server host/,
    ],
    ['a folder that is a device', { cwd: 'file:///dev/null' }, '-32603 Not a directory (os error 20)'],
    [
      'a folder with a name too long',
      { cwd: `file:///${'x'.repeat(5_000)}` },
      '-32603 Filename too long (os error 36)',
    ],
    ['a program with a name too long', { argv: [`/${'x'.repeat(5_000)}`] }, '-32603 Filename too long (os error 36)'],
    ['an argument too long', { argv: ['true', 'x'.repeat(4 * MIB)] }, '-32603 Argument list too long (os error 7)'],
    ['no program', { argv: [''] }, '-32603 missing program for pipe spawn'],
    ['no arguments', { argv: [] }, '-32602 argv must not be empty'],
    ['a program that is a folder', { argv: ['/tmp'] }, '-32603 Permission denied (os error 13)'],
  ];

  test.each(CASES)('%s: refused, and the id is free', async (_what, more, expected) => {
    await using client = await server.connect();
    const outcome = await failure(client.start('p', ['true'], more));
    if (typeof expected === 'string') expect(outcome).toBe(expected);
    else expect(outcome).toMatch(expected);
    expect((await client.run('p', 'exit 4')).exitCode).toBe(4);
  });

  const PLACES: [place: string, message: (bad: Buffer) => (string | Buffer)[]][] = [
    ['the process id', (bad) => ['{"processId":"', bad, '","argv":["true"],"cwd":"file:///tmp","env":{},"tty":false}']],
    [
      'an argument',
      (bad) => ['{"processId":"p","argv":["true","', bad, '"],"cwd":"file:///tmp","env":{},"tty":false}'],
    ],
    ['the folder', (bad) => ['{"processId":"p","argv":["true"],"cwd":"file:///', bad, '","env":{},"tty":false}']],
    [
      'a variable',
      (bad) => ['{"processId":"p","argv":["true"],"cwd":"file:///tmp","env":{"', bad, '":""},"tty":false}'],
    ],
    [
      'its value',
      (bad) => ['{"processId":"p","argv":["true"],"cwd":"file:///tmp","env":{"A":"', bad, '"},"tty":false}'],
    ],
    [
      'arg0',
      (bad) => ['{"processId":"p","argv":["true"],"cwd":"file:///tmp","env":{},"tty":false,"arg0":"', bad, '"}'],
    ],
  ];
  const BAD_UTF8 = ['ff', 'c328', 'e28228', 'eda080', 'f4908080', 'c0af', 'e282'];

  test.each(PLACES)(
    'bytes that are not UTF-8 in %s make it no message, and nothing is started',
    async (_place, message) => {
      await using session = await RawSession.open(server.url);
      for (const hex of BAD_UTF8) {
        const parts = message(Buffer.from(hex, 'hex')).map((part) => Buffer.from(part));
        const text = Buffer.concat([
          Buffer.from('{"id":7,"method":"process/start","params":'),
          ...parts,
          Buffer.from('}'),
        ]);
        session.peer.write(frame(BINARY, text));
        expect(await session.next()).toMatchObject({ id: -1, error: { code: -32600 } });
      }
      expect(await session.request('process/start', startParams('p', ['true']))).toMatchObject({
        result: { processId: 'p' },
      });
    },
  );
});

describe('strings of megabytes', () => {
  // A process of its own each, so that memory can be seen and a heap grown by one test does not hide the next.
  async function grown(work: (server: ServerProcess) => Promise<void>): Promise<number> {
    await using measured = await ServerProcess.start();
    return await measured.peakGrowth(() => work(measured));
  }
  const LONG = 'x'.repeat(4 * MIB);
  /** What a single message of this size may cost on its way through, garbage included. */
  const MAX_GROWTH = 128 * MIB;

  test('as client names of 40 connections are not kept', async () => {
    const growth = await grown(async ({ url }) => {
      const sessions: RawSession[] = [];
      for (let index = 0; index < 40; index += 1) sessions.push(await RawSession.open(url, LONG));
      for (const session of sessions) await session.reset();
    });
    expect(growth).toBeLessThan(MAX_GROWTH);
  });

  test('as write ids are recognised again and not kept', async () => {
    const growth = await grown(async ({ url }) => {
      await using session = await RawSession.open(url);
      await session.request('process/start', startParams('p', ['cat'], { pipeStdin: true }));
      for (let index = 0; index < 20; index += 1) {
        for (let time = 0; time < 2; time += 1) {
          const writeId = `${index} ${LONG}`;
          const answer = await session.request('process/write', { processId: 'p', chunk: 'YQ==', writeId });
          expect(answer).toMatchObject({ result: { status: 'accepted' } });
        }
      }
      await session.request('process/write', { processId: 'p', chunk: 'Yg==', writeId: 'end' });
      const { result } = await session.request('process/read', { processId: 'p', waitMs: 1_000 });
      expect(result).toMatchObject({ exited: false });
    });
    expect(growth).toBeLessThan(MAX_GROWTH);
  });

  /** Starts so many processes, reads nothing of what is said about them, and waits until all was said. */
  async function startMany(url: string, count: number, params: (index: number) => object): Promise<void> {
    await using session = await RawSession.open(url);
    const { socket } = session.peer;
    socket.resume();
    for (let index = 0; index < count; index += 1) {
      if (!socket.write(requestFrame(index, 'process/start', params(index)))) await once(socket, 'drain');
    }
    await untilStill(() => socket.bytesRead, 'the answers');
  }

  test('as process ids of 150 processes are refused or cost next to nothing', async () => {
    const id = 'x'.repeat(MIB);
    const growth = await grown(({ url }) => startMany(url, 150, (index) => startParams(`${index} ${id}`, ['true'])));
    expect(growth).toBeLessThan(MAX_GROWTH);
  });

  test('as environments of 120 processes are not kept', async () => {
    // As much as the system takes: 128 KiB a variable, 2 MiB in all.
    const env = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`V${index}`, 'x'.repeat(125_000)]));
    const growth = await grown(({ url }) =>
      startMany(url, 120, (index) => startParams(`p${index}`, ['/bin/true'], { env })),
    );
    expect(growth).toBeLessThan(MAX_GROWTH);
  });

  test('as the id of a process that floods are refused or multiply nothing', async () => {
    const growth = await grown(async (measured) => {
      await using session = await RawSession.open(measured.url);
      session.send('process/start', startParams(LONG.repeat(4), ['yes']));
      await session.next();
      // Whatever it is allowed to push at once has been pushed when another client was served twice.
      const client: TestClient = await measured.connect();
      await client.run('p', 'echo first');
      await client.run('q', 'echo second');
    });
    expect(growth).toBeLessThan(MAX_GROWTH);
  });
});

test('an id with line breaks does not write lines of its own into the log', async () => {
  await using measured = await ServerProcess.start();
  const client = await measured.connect();
  // Its output outgrows what is retained, which is worth a line with the id in it.
  await client.run('p\n2026-01-01T00:00:00.000Z ERROR forged', 'head -c 20000000 /dev/zero');
  await client.drop();
  expect(measured.log).toContain('forged');
  for (const line of measured.log.trimEnd().split('\n')) expect(line).not.toMatch(/^\S+ ERROR forged/);
});
