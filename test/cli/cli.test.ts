/** The command as a person or a script meets it: the built file, started for real. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dialWebSocket } from '../../src/transport/index.ts';
import { TestClient } from '../support/client.ts';

const CLI = join(import.meta.dirname, '../../dist/cli.cjs');

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'farhand-cli-'));
  writeFileSync(join(folder, 'empty'), '  \n');
  writeFileSync(join(folder, 'short'), 'short');
  writeFileSync(join(folder, 'token'), 'a-token-that-is-secret\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(args: readonly string[], env: NodeJS.ProcessEnv = process.env): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [CLI, ...args], { cwd: folder, env });
}

type Outcome = { status: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

async function outcome(child: ChildProcessWithoutNullStreams): Promise<Outcome> {
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (bytes) => {
    stdout += bytes;
  });
  child.stderr.on('data', (bytes) => {
    stderr += bytes;
  });
  const [status, signal] = await once(child, 'close');
  return { status, signal, stdout, stderr };
}

const run = (...args: readonly string[]): Promise<Outcome> => {
  const child = start(args);
  child.stdin.end();
  return outcome(child);
};

async function firstLine(child: ChildProcessWithoutNullStreams): Promise<string> {
  const lines = createInterface({ input: child.stdout });
  const [line] = await once(lines, 'line');
  return line;
}

describe('start-up errors say what is wrong, on stderr, with the reference’s texts and status', () => {
  const websocket = 'expected `ws://IP:PORT`';
  const either = 'expected `ws://IP:PORT` or `stdio`';
  const listen: [string, string][] = [
    ...['ws://localhost:1', 'ws://127.0.0.1', 'ws://1.2.3.4:99999', 'ws://127.0.0.1:1/path'].map(
      (url): [string, string] => [url, `invalid websocket --listen URL \`${url}\`; ${websocket}`],
    ),
    ...['http://127.0.0.1:1', 'wss://127.0.0.1:1', 'unix:///x', 'off', 'STDIO', 'stdio:', ''].map(
      (url): [string, string] => [url, `unsupported --listen URL \`${url}\`; ${either}`],
    ),
  ];
  test.each(listen)('--listen %s', async (url, text) => {
    expect(await run('exec-server', '--listen', url)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `Error: ${text}\n`,
    });
  });

  const auth: [string[], string][] = [
    [
      ['--ws-auth', 'capability-token'],
      '`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set',
    ],
    [
      ['--ws-auth', 'capability-token', '--ws-token-file', 'token', '--ws-token-sha256', 'ab'],
      '`--ws-token-file` and `--ws-token-sha256` are mutually exclusive',
    ],
    [
      ['--ws-auth', 'capability-token', '--ws-token-sha256', 'ab'],
      '--ws-token-sha256 must be a 64-character hex SHA-256 digest',
    ],
    [
      ['--ws-auth', 'signed-bearer-token'],
      '`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set',
    ],
    [
      ['--ws-token-file', 'token'],
      'websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`',
    ],
    [
      ['--ws-auth', 'capability-token', '--ws-token-file', 'token', '--ws-issuer', 'x'],
      '`--ws-shared-secret-file`, `--ws-issuer`, `--ws-audience`, and `--ws-max-clock-skew-seconds` require `--ws-auth signed-bearer-token`',
    ],
    [
      ['--ws-auth', 'signed-bearer-token', '--ws-token-file', 'token'],
      '`--ws-token-file` and `--ws-token-sha256` require `--ws-auth capability-token`, not `signed-bearer-token`',
    ],
    [
      ['--ws-auth', 'capability-token', '--ws-token-file', 'token', '--listen', 'stdio'],
      'WebSocket auth requires a WebSocket listener, not stdio',
    ],
  ];
  test.each(auth)('%j', async (args, text) => {
    expect(await run('exec-server', ...args)).toMatchObject({ status: 1, stdout: '', stderr: `Error: ${text}\n` });
  });

  test('secret files that are missing, empty or short', async () => {
    const { stderr: missing } = await run('serve', '--ws-auth', 'capability-token', '--ws-token-file', 'nope');
    expect(missing).toBe(
      `Error: failed to read websocket auth secret ${join(folder, 'nope')}: No such file or directory (os error 2)\n`,
    );
    const { stderr: empty } = await run('serve', '--ws-auth', 'capability-token', '--ws-token-file', 'empty');
    expect(empty).toBe(`Error: websocket auth secret ${join(folder, 'empty')} must not be empty\n`);
    const { stderr: short } = await run(
      'serve',
      '--ws-auth',
      'signed-bearer-token',
      '--ws-shared-secret-file',
      'short',
    );
    expect(short).toBe(`Error: signed websocket bearer secret ${join(folder, 'short')} must be at least 32 bytes\n`);
  });

  const usage: [string[], string][] = [
    [
      ['serve', '--concurrent-requests', '0'],
      "invalid value '0' for '--concurrent-requests <COUNT>': number would be zero for non-zero type",
    ],
    [
      ['serve', '--concurrent-requests', 'x'],
      "invalid value 'x' for '--concurrent-requests <COUNT>': invalid digit found in string",
    ],
    [
      ['serve', '--ws-auth', 'foo'],
      "invalid value 'foo' for '--ws-auth <MODE>'\n  [possible values: capability-token, signed-bearer-token]",
    ],
    [['serve', '--listen'], "a value is required for '--listen <URL>' but none was supplied"],
    [
      ['serve', '--listen', 'stdio', '--listen', 'stdio'],
      "the argument '--listen <URL>' cannot be used multiple times",
    ],
    [['serve', '--bogus'], "unexpected argument '--bogus' found"],
    [
      ['serve', '--session-grace', '30'],
      "invalid value '30' for '--session-grace <DURATION>': expected a number with a unit (10ms, 10s, 10m, 10h, 10d)",
    ],
    [['serve', '--tls-cert', 'x'], '--tls-cert and --tls-key go together'],
    [['bogus'], "unrecognized subcommand 'bogus'"],
  ];
  test.each(usage)('%j', async (args, text) => {
    expect(await run(...args)).toMatchObject({
      status: 2,
      stdout: '',
      stderr: `error: ${text}\n\nFor more information, try '--help'.\n`,
    });
  });

  test('a port that is taken', async () => {
    const first = start(['serve']);
    const url = await firstLine(first);
    expect(await run('serve', '--listen', url)).toMatchObject({
      status: 1,
      stderr: 'Error: Address in use (os error 98)\n',
    });
    first.kill();
    await outcome(first);
  });

  test('a non-loopback address without authentication', async () => {
    const { status, stderr } = await run('serve', '--listen', 'ws://0.0.0.0:0');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^Error: refusing to serve 0\.0\.0\.0 without authentication: add --ws-auth/);
  });
});

test('help and version are there, for the command and its subcommands', async () => {
  expect((await run('--version')).stdout).toMatch(/^farhand \d+\.\d+\.\d+\n$/);
  expect((await run('--help')).stdout).toContain('exec-server');
  expect((await run()).stdout).toContain('Usage: farhand');
  const { stdout } = await run('exec-server', '--help');
  for (const flag of ['--listen <URL>', '--ws-auth <MODE>', '--session-grace <DURATION>', '--tls-cert <PATH>']) {
    expect(stdout).toContain(flag);
  }
});

test('doctor names the spawner and what does not work', async () => {
  const { stdout, status } = await run('doctor');
  expect(status).toBe(0);
  expect(stdout).toMatch(/spawner: +(portable|native) /);
  expect(JSON.parse((await run('doctor', '--json')).stdout)).toMatchObject({ node: process.version });
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends every process, tells the client, and exits 0', async (signal) => {
  const child = start(['serve']);
  const url = await firstLine(child);
  const client = await new TestClient(await dialWebSocket(url)).initialize();
  await client.start('p', ['sh', '-c', 'trap "" TERM INT; sleep 300 & echo $$ $!; wait']);
  await client.notification(() => client.output('p', 'stdout').includes('\n'));
  const pids = client.output('p', 'stdout').trim().split(' ');
  child.kill(signal);
  expect(await outcome(child)).toMatchObject({ status: 0, signal: null });
  expect((await client.finished('p')).exitCode).toBe(137);
  await client.drop();
  for (const pid of pids) expect(isRunning(pid), `process ${pid}`).toBe(false);
});

function isRunning(pid: string): boolean {
  try {
    return !/ [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

test('stdio carries the protocol alone on stdout, and the server ends with its input', async () => {
  const child = start(['exec-server', '--listen', 'stdio']);
  const ended = outcome(child);
  child.stdin.write('{"id":1,"method":"initialize","params":{"clientName":"t"}}\n{"method":"initialized"}\n');
  child.stdin.write('\n  \noops\n');
  const start_ = { processId: 'p', argv: ['/bin/echo', 'hi'], cwd: 'file:///tmp', env: {}, tty: false };
  child.stdin.write(`${JSON.stringify({ id: 2, method: 'process/start', params: start_ })}\n`);
  let seen = '';
  for await (const bytes of child.stdout) {
    seen += bytes;
    if (seen.includes('process/closed')) break;
  }
  child.stdin.end();
  const { status } = await ended;
  expect(status).toBe(0);
  const messages = seen
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(messages.map(({ id, method }) => id ?? method)).toEqual([
    1,
    -1,
    2,
    'process/output',
    'process/exited',
    'process/closed',
  ]);
  expect(messages[1].error.message).toBe(
    'failed to parse JSON-RPC message from exec-server stdio: expected value at line 1 column 1',
  );
});

test('secrets reach neither the log nor the children', async () => {
  const child = start(['serve', '--auth-token-file', 'token', '--log-level', 'debug'], {
    ...process.env,
    FARHAND_TOKEN: 'a-token-that-is-secret',
  });
  const ended = outcome(child);
  const url = await firstLine(child);
  const client = await new TestClient(await dialWebSocket(url)).initialize(undefined, {
    authToken: 'a-token-that-is-secret',
  });
  const envPolicy = { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] };
  expect((await client.run('p', 'env', { envPolicy })).stdout).not.toContain('a-token-that-is-secret');
  await client.drop();
  child.kill();
  const { stderr } = await ended;
  expect(stderr).toContain('connection opened');
  expect(stderr).not.toContain('a-token-that-is-secret');
});

test('logs are lines of JSON when asked for', async () => {
  const child = start(['serve', '--log-format', 'json']);
  const ended = outcome(child);
  await firstLine(child);
  child.kill();
  const { stderr } = await ended;
  expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
    level: 'info',
    msg: 'stopping',
    signal: 'SIGTERM',
  });
});

test('a server that cannot serve says why and ends', async () => {
  const { cli, folder: copy } = copyOfTheBuild();
  const child = spawn(process.execPath, [cli, 'serve', '--spawner', 'native'], { cwd: copy });
  expect(await outcome(child)).toMatchObject({
    status: 1,
    stderr:
      'Error: the native spawner cannot be used here: the native addon is not built; scripts/native.mjs builds it\n',
  });
  const portable = spawn(process.execPath, [cli, 'serve'], { cwd: copy });
  const client = await new TestClient(await dialWebSocket(await firstLine(portable))).initialize();
  expect((await client.run('p', 'echo portable')).stdout).toBe('portable\n');
  await client.drop();
  portable.kill();
  await outcome(portable);
});

/** The built files alone, as on a machine where the addon could not be built. */
function copyOfTheBuild(): { cli: string; folder: string } {
  const copy = mkdtempSync(join(folder, 'copy-'));
  const built = join(CLI, '..');
  for (const name of readdirSync(built).filter((file) => file.endsWith('.cjs'))) {
    copyFileSync(join(built, name), join(copy, name));
  }
  return { cli: join(copy, 'cli.cjs'), folder: copy };
}

test('a server whose stderr is gone goes on serving', async () => {
  const child = start(['serve', '--log-level', 'debug']);
  const url = await firstLine(child);
  child.stderr.destroy();
  for (let index = 0; index < 5; index += 1) {
    const client = await new TestClient(await dialWebSocket(url)).initialize();
    expect((await client.run('p', 'echo fine')).stdout).toBe('fine\n');
    await client.drop();
  }
  child.kill();
  await once(child, 'close');
});
