/** A system that has nothing left to give: the server says so in the system's words, lives, and recovers. */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dialWebSocket } from '../../src/transport/index.ts';
import { RpcError, TestClient } from '../support/client.ts';
import { closed } from './support/raw-session.ts';
import { CLI, ServerProcess } from './support/server-process.ts';
import { until } from './support/until.ts';

const NO_DESCRIPTORS = '-32603 No file descriptors available (os error 24)';

const failure = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => 'no failure',
    (error: unknown) => (error instanceof RpcError ? `${error.code} ${error.message}` : String(error)),
  );

/** Starts processes until one fails; returns how many ran and the failure. */
async function startMany(client: TestClient, tty = false): Promise<{ count: number; text: string }> {
  for (let count = 0; ; count += 1) {
    const text = await failure(client.start(`p${count}`, ['sleep', '300'], { tty }));
    if (text !== 'no failure') return { count, text };
  }
}

async function endMany(client: TestClient, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    await client.request('process/terminate', { processId: `p${index}` });
    await client.finished(`p${index}`);
  }
}

describe('without descriptors', () => {
  test.each([
    ['pipes', false],
    ['terminals', true],
  ])('a start on %s fails with the system’s words, and works when others have ended', async (_where, tty) => {
    await using server = await ServerProcess.start([], { limit: 'ulimit -n 64' });
    const client = await server.connect();
    const { count, text } = await startMany(client, tty);
    expect(text).toBe(NO_DESCRIPTORS);
    expect(count).toBeGreaterThan(5);
    for (let attempt = 0; attempt < 50; attempt += 1) {
      expect(await failure(client.start('more', ['true'], { tty }))).toBe(NO_DESCRIPTORS);
    }
    expect(await client.request('environment/status')).toEqual({ status: 'ready' });
    await endMany(client, count);
    expect(await client.run('again', 'echo fine')).toMatchObject({ stdout: 'fine\n', exitCode: 0 });
    await client.drop();
    await server.settled();
  });

  test('connections are turned away, those there are served, and newcomers get in when some have gone', async () => {
    await using server = await ServerProcess.start([], { limit: 'ulimit -n 64' });
    const first = await server.connect();
    const others: TestClient[] = [];
    for (let isFull = false; !isFull; ) {
      // Turned away in whatever manner is left: a reset, or silence.
      const connection = await dialWebSocket(server.url, { connectTimeoutMs: 500 }).catch(() => undefined);
      if (connection) others.push(await new TestClient(connection).initialize());
      else isFull = true;
    }
    expect(others.length).toBeGreaterThan(10);
    expect(await failure(first.start('p', ['true']))).toBe(NO_DESCRIPTORS);
    for (const client of others.splice(0, 10)) await client.drop();
    await until(
      () => failure(first.run('q', 'exit 0')),
      (text) => text === 'no failure',
      'room for a process',
    );
    const late = await server.connect();
    expect((await late.run('p', 'echo fine')).stdout).toBe('fine\n');
    for (const client of others) await client.drop();
    for (const client of [first, late]) await client.drop();
    await server.settled();
  });

  test('a hundred sockets that come and go at the limit leave the server with all its descriptors', async () => {
    await using server = await ServerProcess.start([], { limit: 'ulimit -n 64' });
    const { hostname, port } = new URL(server.url);
    for (let round = 0; round < 5; round += 1) {
      const sockets = Array.from({ length: 100 }, () => connect(Number(port), hostname).on('error', () => {}));
      await Promise.all(
        sockets.map((socket) => new Promise((done) => socket.once('connect', done).once('close', done))),
      );
      for (const socket of sockets) socket.destroy();
      await Promise.all(sockets.map((socket) => closed(socket)));
    }
    await server.settled();
    const client = await server.connect();
    expect((await client.run('p', 'echo fine')).stdout).toBe('fine\n');
  });
});

/** The limit on processes does not bind root, and counts all of a user's; so a user that has none is borrowed. */
const NOBODY = 65_534;
const canBorrow =
  process.getuid?.() === 0 && spawnSync(process.execPath, ['-e', '0'], { uid: NOBODY, cwd: '/' }).status === 0;

describe.skipIf(!canBorrow)('without processes', () => {
  test('a start fails with the system’s words, and works when others have ended', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'farhand-hostile-'));
    chmodSync(folder, 0o755);
    // Where that user can read it; the native addon stays behind.
    const cli = join(folder, 'cli.cjs');
    const built = dirname(CLI);
    try {
      for (const name of readdirSync(built).filter((file) => file.endsWith('.cjs'))) {
        copyFileSync(join(built, name), join(folder, name));
      }
      await using server = await ServerProcess.start(['--spawner', 'portable'], {
        limit: '{ ulimit -u 40 2>/dev/null || ulimit -p 40; }',
        uid: NOBODY,
        cli,
      });
      const client = await server.connect();
      const { count, text } = await startMany(client);
      expect(text).toBe('-32603 Resource temporarily unavailable (os error 11)');
      expect(count).toBeGreaterThan(3);
      expect(await client.request('environment/status')).toEqual({ status: 'ready' });
      await endMany(client, count);
      expect((await client.run('again', 'echo fine')).stdout).toBe('fine\n');
      await client.drop();
      await server.settled();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
