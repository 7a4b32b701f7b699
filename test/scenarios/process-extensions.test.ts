/** What we add to processes, the same over every transport. Stock clients never see it unless they ask. */
import { describe, expect, test } from 'vitest';
import { failure, type TestClient } from '../support/client.ts';
import { startServer, TRANSPORTS } from '../support/server.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const exitOf = (client: TestClient, processId: string): Record<string, unknown> | undefined =>
  client.events(processId).find(({ method }) => method === 'process/exited')?.params;
const ready = (client: TestClient, processId: string): Promise<unknown> =>
  client.notification(() => client.output(processId, 'stdout').includes('ready'));
const terminate = (client: TestClient, processId: string, more = {}): Promise<unknown> =>
  client.request('process/terminate', { processId, ...more });

describe.each(TRANSPORTS)('over %s', (transport) => {
  test('a terminal starts with the size asked for and follows a resize', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const script = 'stty size; trap "stty size; exit" WINCH; echo go; while :; do sleep 0.05; done';
    await client.start('p', ['bash', '-c', script], { tty: true, size: { rows: 30, cols: 100 } });
    await client.notification(() => client.output('p', 'pty').includes('go'));
    expect(await client.request('process/resize', { processId: 'p', size: { rows: 50, cols: 132 } })).toEqual({});
    expect((await client.finished('p')).pty).toBe('30 100\r\ngo\r\n50 132\r\n');
    await client.start('q', ['sleep', '60']);
    const resize = client.request('process/resize', { processId: 'q', size: { rows: 1, cols: 1 } });
    expect(await failure(resize)).toBe('-32602 process q has no terminal to resize');
    expect(await failure(client.request('process/resize', { processId: 'x', size: { rows: 1, cols: 1 } }))).toBe(
      '-32600 unknown process id x',
    );
    await terminate(client, 'q');
    await client.finished('q');
  });

  test('closing stdin is the end of file after the writes before it, on pipes and on a terminal', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    for (const [processId, more] of [
      ['pipe', { pipeStdin: true }],
      ['terminal', { tty: true }],
    ] as const) {
      await client.start(processId, ['cat'], more);
      const chunk = base64('last words\n');
      const written = client.request('process/write', { processId, chunk, writeId: '1' });
      expect(await client.request('process/closeStdin', { processId })).toEqual({});
      expect(await written).toEqual({ status: 'accepted' });
      const { stdout, pty, exitCode } = await client.finished(processId);
      expect(exitCode).toBe(0);
      expect(stdout + pty).toContain('last words');
    }
  });

  test('signals reach the group by name', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.start('p', ['bash', '-c', 'trap "echo one" USR1; echo ready; while :; do sleep 0.05; done']);
    await ready(client, 'p');
    await client.request('process/signal', { processId: 'p', signal: 'usr1' });
    await client.notification(() => client.output('p', 'stdout').includes('one'));
    await client.request('process/signal', { processId: 'p', signal: 'hangup' });
    await client.finished('p');
    expect(exitOf(client, 'p')).toMatchObject({ exitCode: 129, signal: 'SIGHUP', reason: 'signalled' });
  });

  test('a polite termination lets the process say goodbye', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.start('p', ['bash', '-c', 'trap "echo bye; exit 3" TERM; echo ready; while :; do sleep 0.05; done']);
    await ready(client, 'p');
    expect(await terminate(client, 'p', { graceMs: 20_000 })).toEqual({ running: true });
    const done = await client.finished('p');
    expect(done).toMatchObject({ stdout: 'ready\nbye\n', exitCode: 3 });
    expect(exitOf(client, 'p')).toMatchObject({ reason: 'terminated' });
  });

  test('a process that ignores the polite request is killed when the grace is over, stopped or not', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.start('p', ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 1; done']);
    await ready(client, 'p');
    await client.request('process/signal', { processId: 'p', signal: 'stop' });
    await terminate(client, 'p', { graceMs: 50 });
    await client.finished('p');
    expect(exitOf(client, 'p')).toMatchObject({ exitCode: 137, signal: 'SIGKILL', reason: 'terminated' });
  });

  test('a process that takes too long, or is silent for too long, is ended and its output stays', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const slow = await client.run('slow', 'echo ready; while :; do sleep 0.02; echo x; done', { timeoutMs: 300 });
    expect(slow.stdout).toMatch(/^ready\n/);
    expect(exitOf(client, 'slow')).toMatchObject({ exitCode: 137, reason: 'timedOut' });
    const idle = await client.run('idle', 'for i in 1 2 3 4 5 6; do echo x; sleep 0.3; done; sleep 60', {
      idleTimeoutMs: 1_500,
    });
    expect(idle.stdout, 'printing kept it alive').toBe('x\n'.repeat(6));
    expect(exitOf(client, 'idle')).toMatchObject({ exitCode: 137, reason: 'idleTimedOut' });
    const read = await client.request('process/read', { processId: 'idle' });
    expect(read).toMatchObject({ exited: true, signal: 'SIGKILL', reason: 'idleTimedOut' });
  });

  test('a timed-out process closes although an escaped descendant holds its output', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const done = await client.run('p', 'setsid sleep 300 & echo $!; sleep 300', { timeoutMs: 100 });
    expect(exitOf(client, 'p')).toMatchObject({ reason: 'timedOut' });
    process.kill(Number(done.stdout), 'SIGKILL'); // Started by this test, through the server.
  });

  test('an ordinary exit says nothing more than the reference does', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.run('p', 'exit 3');
    expect(Object.keys(exitOf(client, 'p') ?? {})).toEqual(['processId', 'seq', 'exitCode', 'sandboxDenied']);
  });

  test('the output of one process can be stopped and goes on without loss', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.start('p', ['sh', '-c', 'read x; head -c 3000000 /dev/zero'], { pipeStdin: true });
    await client.request('process/flow', { processId: 'p', paused: true });
    await client.request('process/write', { processId: 'p', chunk: base64('\n'), writeId: '1' });
    expect((await client.run('other', 'echo other')).stdout).toBe('other\n');
    expect(client.output('p', 'stdout')).toBe('');
    await client.request('process/flow', { processId: 'p', paused: false });
    expect((await client.finished('p')).stdout.length).toBe(3_000_000);
  });

  test('the list tells of every process of the session and of no other', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const stranger = await server.connect();
    await stranger.start('strange', ['sleep', '60']);
    await client.start('runs', ['sleep', '60'], { cwd: 'file:///usr' });
    await client.run('done', 'exit 4', { tty: true });
    const { processes } = await client.request<{ processes: Record<string, unknown>[] }>('process/list');
    expect(processes).toEqual([
      expect.objectContaining({
        processId: 'runs',
        argv: ['sleep', '60'],
        cwd: 'file:///usr',
        tty: false,
        state: 'running',
        exit: null,
      }),
      expect.objectContaining({ processId: 'done', tty: true, state: 'closed', nextSeq: 3, exit: { exitCode: 4 } }),
    ]);
    expect(processes[0]?.pid).toBeGreaterThan(1);
    expect(Number(processes[0]?.startedAtMs)).toBeGreaterThan(Date.now() - 60_000);
  });

  test('admin methods are refused unless the server allows them', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    expect(await failure(client.request('admin/processes'))).toBe(
      '-32600 admin methods are off; start the server with --admin to allow them',
    );
    expect(await failure(client.request('admin/terminate', { ref: 'x' }))).toMatch(/--admin/);
  });

  test("an admin sees and ends every session's processes, without learning a session id", async () => {
    await using server = await startServer(transport, { admin: true });
    const owner = await server.connect();
    const admin = await server.connect();
    await owner.start('p', ['sleep', '60']);
    const { processes } = await admin.request<{ processes: { ref: string }[] }>('admin/processes');
    expect(processes).toEqual([expect.objectContaining({ processId: 'p', attached: true, state: 'running' })]);
    expect(JSON.stringify(processes)).not.toContain(owner.sessionId);
    expect(await admin.request('admin/terminate', { ref: processes[0]?.ref })).toEqual({ running: true });
    expect((await owner.finished('p')).exitCode).toBe(137);
    expect(await admin.request('admin/terminate', { ref: 'nobody' })).toEqual({ running: false });
  });

  test('what is added is announced', async () => {
    await using server = await startServer(transport, { admin: true });
    const client = await server.connect();
    const { extensions } = await client.request<{ extensions: string[] }>('environment/info');
    for (const name of ['process/resize', 'process/start.timeoutMs', 'process/flow', 'admin/processes']) {
      expect(extensions).toContain(name);
    }
  });
});
