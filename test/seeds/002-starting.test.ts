/** Seed 002: a start that is not finished is a state of its own, and one that fails leaves nothing behind. */
import { describe, expect, test } from 'vitest';
import { startServer } from '../support/server.ts';
import { HeldSpawner } from './held-spawner.ts';
import { CLIENTS, read, refusal, terminate, write } from './support.ts';

// Wide enough that the calls about a start need not wait for it; by default they would.
const concurrentRequests = 4;

describe('seed 002 behaviours', () => {
  describe.each(CLIENTS)('for %s', (_client, transport) => {
    describe('starting is a state', () => {
      test('read says that the process is starting', async () => {
        const spawner = new HeldSpawner();
        await using server = await startServer(transport, { spawner, concurrentRequests });
        const client = await server.connect();
        using hold = spawner.hold();
        const started = client.start('p', ['sh', '-c', 'echo here; exit 4']);
        await spawner.attempt(0);
        expect(await refusal(read(client, 'p'))).toBe('-32600 process id p is starting');
        expect(await refusal(read(client, 'p', { waitMs: 60_000 }))).toBe('-32600 process id p is starting');
        hold.release();
        await started;
        expect(await client.finished('p')).toMatchObject({ stdout: 'here\n', exitCode: 4, seqs: [1, 2, 3] });
      });

      // Seed 002: -32600 "process id p is starting", as for read. Today it is a status.
      test('write says that the process is starting, and what it carried is not kept', async () => {
        const spawner = new HeldSpawner();
        await using server = await startServer(transport, { spawner, concurrentRequests });
        const client = await server.connect();
        using hold = spawner.hold();
        const started = client.start('p', ['cat'], { pipeStdin: true });
        await spawner.attempt(0);
        expect(await write(client, 'p', 'early')).toEqual({ status: 'starting' });
        hold.release();
        await started;
        expect(await write(client, 'p', 'late')).toEqual({ status: 'accepted' });
        expect(await write(client, 'p', 'early')).toEqual({ status: 'accepted' }); // Not taken for one it had.
        await client.notification(() => client.output('p', 'stdout') === 'lateearly');
        await terminate(client, 'p');
      });

      test('the id is taken while the process is starting', async () => {
        const spawner = new HeldSpawner();
        await using server = await startServer(transport, { spawner, concurrentRequests });
        const client = await server.connect();
        using hold = spawner.hold();
        const started = client.start('p', ['sleep', '300']);
        await spawner.attempt(0);
        expect(await refusal(client.start('p', ['true']))).toBe('-32600 process p already exists');
        expect(spawner.requests).toHaveLength(1);
        hold.release();
        await started;
      });

      test('a client that comes back in the middle of a start finds it starting, and gets what it prints', async () => {
        const spawner = new HeldSpawner();
        await using server = await startServer(transport, { spawner });
        const first = await server.connect();
        using hold = spawner.hold();
        const started = refusal(first.start('p', ['sh', '-c', 'echo here; exit 4']));
        await spawner.attempt(0);
        await first.drop();
        expect(await started).toBe('Error: connection ended');
        const second = await server.connect(first.sessionId);
        expect(await refusal(read(second, 'p'))).toBe('-32600 process id p is starting');
        hold.release();
        expect(await second.finished('p')).toMatchObject({ stdout: 'here\n', exitCode: 4, seqs: [1, 2, 3] });
      });
    });

    test.each([
      ['on pipes', false],
      ['on a terminal', true],
    ])('a failed spawn frees the id: %s', async (_name, tty) => {
      const spawner = new HeldSpawner();
      await using server = await startServer(transport, { spawner, concurrentRequests });
      const client = await server.connect();
      const hold = spawner.hold();
      const started = refusal(client.start('p', ['/nonexistent'], { tty }));
      expect((await spawner.attempt(0)).child).toBeUndefined();
      expect(await refusal(read(client, 'p'))).toBe('-32600 process id p is starting');
      hold.release();
      expect(await started).toBe('-32603 No such file or directory (os error 2)');
      expect(await refusal(read(client, 'p'))).toBe('-32600 unknown process id p');
      expect(await write(client, 'p', 'x')).toEqual({ status: 'unknownProcess' });
      expect(await terminate(client, 'p')).toEqual({ running: false });
      expect(await client.run('p', 'exit 4', { tty })).toMatchObject({ exitCode: 4, seqs: [1, 2] });
    });
  });
});
