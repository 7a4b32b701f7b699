/** What becomes of a process that is terminated while it is starting: an answer, no child, no trace. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { startServer } from '../support/server.ts';
import { HeldSpawner } from './held-spawner.ts';
import { CLIENTS, isGone, read, refusal, terminate } from './support.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('seed 002 behaviours', () => {
  describe.each(CLIENTS)('for %s', (_client, transport) => {
    // Seed 002: terminate said running: false and the start went on. Today it says true and the start is cancelled.
    describe('a process that is terminated while it is starting', () => {
      test('is refused with its own text, and the late child is ended', async () => {
        const spawner = new HeldSpawner();
        await using server = await startServer(transport, { spawner });
        const client = await server.connect();
        using hold = spawner.hold();
        const started = refusal(client.start('p', ['sh', '-c', 'trap "" TERM INT HUP; echo here; sleep 300; :']));
        const child = await spawner.child(0);
        expect(await terminate(client, 'p')).toEqual({ running: true });
        expect(isGone(child.pid)).toBe(false);
        hold.release();
        expect(await started).toBe('-32600 process p start was cancelled');
        expect((await child.exited).signal).toBe('SIGKILL');
        expect(isGone(child.pid)).toBe(true);
      });

      test('is cancelled once however often that is asked', async () => {
        const spawner = new HeldSpawner();
        await using server = await startServer(transport, { spawner });
        const client = await server.connect();
        using hold = spawner.hold();
        const started = refusal(client.start('p', ['sleep', '300']));
        const child = await spawner.child(0);
        expect(await terminate(client, 'p')).toEqual({ running: true });
        expect(await terminate(client, 'p')).toEqual({ running: true });
        hold.release();
        expect(await started).toBe('-32600 process p start was cancelled');
        expect(await terminate(client, 'p')).toEqual({ running: false });
        await child.exited;
      });

      test('leaves its id free', async () => {
        const spawner = new HeldSpawner();
        await using server = await startServer(transport, { spawner });
        const client = await server.connect();
        const hold = spawner.hold();
        const started = refusal(client.start('p', ['sleep', '300']));
        await spawner.attempt(0);
        await terminate(client, 'p');
        hold.release();
        expect(await started).toBe('-32600 process p start was cancelled');
        expect(await refusal(read(client, 'p'))).toBe('-32600 unknown process id p');
        await client.start('p', ['sh', '-c', 'echo again']);
        await client.notification(() => client.output('p', 'stdout') === 'again\n');
      });

      test('is never heard of: no event follows a start that was refused', async () => {
        const spawner = new HeldSpawner();
        await using server = await startServer(transport, { spawner });
        const client = await server.connect();
        using hold = spawner.hold();
        const started = refusal(client.start('p', ['sh', '-c', 'echo here; sleep 300; :']));
        const child = await spawner.child(0);
        await terminate(client, 'p');
        hold.release();
        expect(await started).toBe('-32600 process p start was cancelled');
        await child.exited;
        await client.run('q', 'true'); // What was to be pushed before this has arrived with it.
        expect(client.events('p')).toEqual([]);
      });

      test('does not take a later process of its id along when its own time is over', async () => {
        vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
        const spawner = new HeldSpawner();
        await using server = await startServer(transport, { spawner, closedRetentionMs: 1_000 });
        const client = await server.connect();
        const hold = spawner.hold();
        const started = refusal(client.start('p', ['sleep', '300']));
        const child = await spawner.child(0);
        await terminate(client, 'p');
        hold.release();
        expect(await started).toBe('-32600 process p start was cancelled');
        await child.exited;
        await client.start('p', ['sleep', '20']); // A server that forgets it would leave it behind; not for long.
        await vi.advanceTimersByTimeAsync(10_000);
        expect(await refusal(read(client, 'p'))).toBe('not refused');
        expect(await terminate(client, 'p')).toEqual({ running: true });
        await (await spawner.child(1)).exited;
      });

      test('is not spawned at all when its turn had not come', async () => {
        const spawner = new HeldSpawner();
        await using server = await startServer(transport, { spawner });
        const client = await server.connect();
        using hold = spawner.hold();
        const first = client.start('first', ['sleep', '300']);
        const second = refusal(client.start('second', ['sleep', '300']));
        await spawner.attempt(0);
        expect(await terminate(client, 'second')).toEqual({ running: true });
        expect(await second).toBe('-32600 process second start was cancelled');
        hold.release();
        await first;
        expect(await refusal(read(client, 'second'))).toBe('-32600 unknown process id second');
        expect(spawner.requests).toHaveLength(1);
      });

      test('is cancelled as well when the server stops', async () => {
        const spawner = new HeldSpawner();
        await using server = await startServer(transport, { spawner });
        const client = await server.connect();
        using hold = spawner.hold();
        const started = refusal(client.start('p', ['sleep', '300']));
        const child = await spawner.child(0);
        const stopped = server.host.stop();
        hold.release();
        expect(await started).toBe('-32600 process p start was cancelled');
        await stopped;
        expect((await child.exited).signal).toBe('SIGKILL');
        expect(isGone(child.pid)).toBe(true);
      });
    });
  });
});
