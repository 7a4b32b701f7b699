/** Processes as a client sees them, the same over every transport. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { failure, type TestClient } from '../support/client.ts';
import { startServer, TRANSPORTS } from '../support/server.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const write = (client: TestClient, processId: string, text: string, writeId: string): Promise<{ status: string }> =>
  client.request('process/write', { processId, chunk: base64(text), writeId });
const terminate = (client: TestClient, processId: string): Promise<{ running: boolean }> =>
  client.request('process/terminate', { processId });
const isGone = (pid: number): boolean => {
  try {
    // A zombie that waits for its parent is gone as far as anybody cares.
    return / [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
};

describe.each(TRANSPORTS)('over %s', (transport) => {
  test('a command streams its output, exits and closes, in seq order from 1', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const done = await client.run('p', 'echo out; echo err >&2; exit 3');
    expect(done).toMatchObject({ stdout: 'out\n', stderr: 'err\n', exitCode: 3 });
    expect(done.seqs).toEqual([1, 2, 3, 4]);
    expect(client.events('p').at(-1)?.method).toBe('process/closed');
  });

  test('a start is answered before anything of that process is pushed', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    for (let index = 0; index < 30; index += 1) await client.run(`p${index}`, 'echo x');
    const order = client.messages.map((message) => {
      if (message.type === 'response') return (message.result as { processId?: string }).processId;
      return message.type === 'notification' ? `push ${(message.params as { processId: string }).processId}` : '';
    });
    for (let index = 0; index < 30; index += 1) {
      expect(order.indexOf(`p${index}`)).toBeLessThan(order.indexOf(`push p${index}`));
      expect(order.indexOf(`p${index}`)).toBeGreaterThan(-1);
    }
  });

  test('output is cut into chunks of at most 8192 bytes and none is lost', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const done = await client.run('p', 'head -c 3000000 /dev/zero | tr "\\0" x');
    expect(done.stdout.length).toBe(3_000_000);
    expect(done.stdout).toMatch(/^x+$/);
    const sizes = client
      .events('p')
      .filter(({ method }) => method === 'process/output')
      .map(({ params }) => Buffer.from(String(params.chunk), 'base64').length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(8192);
    expect(done.seqs).toEqual(done.seqs.map((_, index) => index + 1));
  });

  test('closed waits for descendants that hold the output, exited does not', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const done = await client.run('p', '(sleep 0.2; echo late) & echo early');
    expect(done.stdout).toBe('early\nlate\n');
    const methods = client.events('p').map(({ method }) => method);
    expect(methods.indexOf('process/exited')).toBeLessThan(methods.lastIndexOf('process/output'));
  });

  test('death by signal is 128 + signal on pipes', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    expect((await client.run('a', 'kill -TERM $$')).exitCode).toBe(143);
    expect((await client.run('b', 'kill -SEGV $$')).exitCode).toBe(139);
  });

  test('a terminal is 24 x 80, echoes, turns ^C into SIGINT and reports 1', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    expect((await client.run('size', 'stty size', { tty: true })).pty).toBe('24 80\r\n');
    await client.start('cat', ['cat'], { tty: true });
    await write(client, 'cat', 'hello\n', '1');
    await client.notification(() => client.output('cat', 'pty').includes('hello\r\nhello\r\n'));
    await write(client, 'cat', '\x03', '2');
    expect((await client.finished('cat')).exitCode).toBe(1);
  });

  test('without a terminal or pipeStdin the command reads end of file at once and cannot be written to', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const done = await client.run('p', 'cat; echo eof');
    expect(done.stdout).toBe('eof\n');
    expect(await write(client, 'p', 'x', '1')).toEqual({ status: 'stdinClosed' });
    expect(await write(client, 'nobody', 'x', '1')).toEqual({ status: 'unknownProcess' });
  });

  test('a write with the same id is delivered once', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.start('p', ['cat'], { pipeStdin: true });
    expect(await write(client, 'p', 'one', '1')).toEqual({ status: 'accepted' });
    expect(await write(client, 'p', 'one', '1')).toEqual({ status: 'accepted' });
    await write(client, 'p', 'two', '2');
    await client.notification(() => client.output('p', 'stdout') === 'onetwo');
    await terminate(client, 'p');
    await client.finished('p');
    expect(await failure(write(client, 'p', 'late', '3'))).toBe('-32603 failed to write to process stdin');
    expect(await write(client, 'p', 'one', '1')).toEqual({ status: 'accepted' });
    expect(client.output('p', 'stdout')).toBe('onetwo');
  });

  test('terminate ends the whole group at once, whatever it ignores', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.start('p', ['sh', '-c', 'trap "" TERM INT HUP; sleep 300 & echo $$ $!; wait']);
    await client.notification(() => client.output('p', 'stdout').includes('\n'));
    const pids = client.output('p', 'stdout').trim().split(' ').map(Number);
    expect(await terminate(client, 'p')).toEqual({ running: true });
    expect((await client.finished('p')).exitCode).toBe(137);
    await expect.poll(() => pids.every(isGone)).toBe(true);
    expect(await terminate(client, 'p')).toEqual({ running: false });
    expect(await terminate(client, 'nobody')).toEqual({ running: false });
  });

  test('after terminate closed follows although an escaped descendant holds the output', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.start('p', ['sh', '-c', 'setsid sleep 300 & echo $!; wait']);
    await client.notification(() => client.output('p', 'stdout').includes('\n'));
    const escaped = Number(client.output('p', 'stdout'));
    await terminate(client, 'p');
    expect((await client.finished('p')).exitCode).toBe(137);
    process.kill(escaped, 'SIGKILL'); // Started by this test, through the server.
  });

  test('signal interrupts the group and is harmless where nothing runs', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.start('p', ['sh', '-c', 'echo ready; exec sleep 300']);
    await client.notification(() => client.output('p', 'stdout') === 'ready\n');
    expect(await client.request('process/signal', { processId: 'p', signal: 'interrupt' })).toEqual({});
    expect((await client.finished('p')).exitCode).toBe(130);
    expect(await client.request('process/signal', { processId: 'p', signal: 'interrupt' })).toEqual({});
    expect(await client.request('process/signal', { processId: 'nobody', signal: 'interrupt' })).toEqual({});
  });

  test('a read waits for output, for the exit and for the close', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.start('p', ['sh', '-c', 'read line; echo $line; read line'], { pipeStdin: true });
    const read = (afterSeq: number): Promise<Record<string, unknown>> =>
      client.request('process/read', { processId: 'p', afterSeq, waitMs: 20_000 });
    const first = read(0);
    await write(client, 'p', 'hi\n', '1');
    expect(await first).toMatchObject({ chunks: [{ seq: 1, stream: 'stdout', chunk: base64('hi\n') }], nextSeq: 2 });
    const exit = read(1);
    await write(client, 'p', 'bye\n', '2');
    expect(await exit).toMatchObject({ chunks: [], exited: true, exitCode: 0 });
    expect(await read(99)).toMatchObject({ chunks: [], closed: true, nextSeq: 4 });
  });

  test('a start that fails frees its id and says why', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const start = (argv: string[], more = {}): Promise<string> => failure(client.start('p', argv, more));
    expect(await start(['/nonexistent'])).toBe('-32603 No such file or directory (os error 2)');
    expect(await start(['/etc/passwd'])).toBe('-32603 Permission denied (os error 13)');
    expect(await start(['true'], { cwd: 'file:///nonexistent' })).toBe('-32603 No such file or directory (os error 2)');
    expect(await start(['true'], { cwd: 'file:///nonexistent', tty: true })).toBe(
      '-32603 No such file or directory (os error 2)',
    );
    expect(await start([])).toBe('-32602 argv must not be empty');
    expect(await start(['a\0b'])).toBe('-32603 nul byte found in provided data');
    expect((await client.run('p', 'echo fine')).stdout).toBe('fine\n');
    expect(await start(['true'])).toBe('-32600 process p already exists');
  });

  test('a sandbox policy is refused rather than ignored, and no sandbox runs', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const managed = {
      permissions: { type: 'managed', network: 'restricted', file_system: { type: 'restricted', entries: [] } },
      windowsSandboxLevel: 'disabled',
    };
    expect(await failure(client.start('p', ['true'], { sandbox: managed }))).toBe(
      '-32602 sandbox intent cannot be enforced on this executor',
    );
    const disabled = { permissions: { type: 'disabled' }, windowsSandboxLevel: 'disabled' };
    expect((await client.run('p', 'echo ok', { sandbox: disabled })).stdout).toBe('ok\n');
  });

  test('the environment is exactly what was asked for', async () => {
    await using server = await startServer(transport, {
      environment: { PATH: '/usr/bin:/bin', API_KEY: 'k', HOME: '/tmp' },
    });
    const client = await server.connect();
    await client.start('bare', ['/usr/bin/env'], { env: { A: '1' } });
    expect((await client.finished('bare')).stdout).toBe('A=1\n');
    const policy = { inherit: 'all', ignoreDefaultExcludes: false, exclude: [], set: { B: '2' }, includeOnly: [] };
    await client.start('policy', ['/usr/bin/env'], { env: { A: '1' }, envPolicy: policy });
    const lines = (await client.finished('policy')).stdout.trim().split('\n').sort();
    expect(lines).toEqual(['A=1', 'B=2', 'HOME=/tmp', 'PATH=/usr/bin:/bin']);
  });
});
