/** Seed 000: nothing of an in-process client outlives it. Today it has the grace of its session, and then nothing does. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ServerOptions } from '../../src/server/serve.ts';
import { memoryPair } from '../../src/transport/index.ts';
import { TestClient } from '../support/client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { HeldSpawner } from './held-spawner.ts';
import { isGone, refusal } from './support.ts';

type Fixture = AsyncDisposable & {
  server: TestServer;
  client: TestClient;
  spawner: HeldSpawner;
  /** Drops the client; resolves when the server has noticed. */
  drop(): Promise<void>;
};

async function connectInProcess(options: Partial<ServerOptions> = {}): Promise<Fixture> {
  const spawner = new HeldSpawner();
  const server = await startServer('memory', { spawner, ...options });
  const [near, far] = memoryPair();
  const serving = server.host.serve(far);
  const client = await new TestClient(near).initialize();
  const drop = async (): Promise<void> => {
    await client.drop();
    await serving;
  };
  const dispose = async (): Promise<void> => {
    await server[Symbol.asyncDispose]();
    await drop();
  };
  return { server, client, spawner, drop, [Symbol.asyncDispose]: dispose };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('seed 000 behaviours', () => {
  test.each([
    ['on pipes', false],
    ['on a terminal', true],
  ])('dropping the in-process client ends its processes, descendants included: %s', async (_name, tty) => {
    await using fixture = await connectInProcess({ sessionGraceMs: 0 });
    const { client, spawner, drop } = fixture;
    await client.start('p', ['sh', '-c', 'trap "" TERM INT HUP; sleep 300 & echo $$ $!; wait'], { tty });
    await client.notification(() => client.output('p', tty ? 'pty' : 'stdout').includes('\n'));
    const pids = client
      .output('p', tty ? 'pty' : 'stdout')
      .trim()
      .split(' ')
      .map(Number);
    expect(pids.map(isGone)).toEqual([false, false]);
    await drop();
    await (await spawner.child(0)).exited;
    await expect.poll(() => pids.map(isGone)).toEqual([true, true]);
  });

  test('dropping the in-process client ends all of its processes and none of another client', async () => {
    await using fixture = await connectInProcess({ sessionGraceMs: 0 });
    const { client, server, spawner, drop } = fixture;
    const other = await server.connect();
    await client.start('a', ['sleep', '300']);
    await other.start('a', ['sleep', '300']);
    await client.start('b', ['sleep', '300']);
    const [first, others, second] = await Promise.all([spawner.child(0), spawner.child(1), spawner.child(2)]);
    await drop();
    expect((await first.exited).signal).toBe('SIGKILL');
    expect((await second.exited).signal).toBe('SIGKILL');
    expect(others.killed).toBe(false);
    expect(isGone(others.pid)).toBe(false);
  });

  // March: at once. Today: when the grace of the session is over, 30 s unless told otherwise.
  test('with a grace the processes of a dropped client live exactly that long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await using fixture = await connectInProcess();
    const { client, server, spawner, drop } = fixture;
    await client.start('p', ['sleep', '300']);
    const child = await spawner.child(0);
    await drop();
    await vi.advanceTimersByTimeAsync(29_999);
    expect(child.killed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect((await child.exited).signal).toBe('SIGKILL');
    expect(isGone(child.pid)).toBe(true);
    const late = await server.open();
    expect(await refusal(late.initialize(client.sessionId))).toBe(`-32600 unknown session id ${client.sessionId}`);
  });

  test('a start that is not finished when the grace ends is ended as soon as it exists', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await using fixture = await connectInProcess({ sessionGraceMs: 1_000 });
    const { client, spawner, drop } = fixture;
    using hold = spawner.hold();
    const started = refusal(client.start('p', ['sleep', '300']));
    const child = await spawner.child(0);
    await drop();
    expect(await started).toBe('Error: connection ended');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(isGone(child.pid)).toBe(false);
    hold.release();
    expect((await child.exited).signal).toBe('SIGKILL');
    expect(isGone(child.pid)).toBe(true);
  });
});
