/** Seed 002: an exited process is remembered for a time, and the time can be set. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { startServer } from '../support/server.ts';
import { CLIENTS, read, refusal, terminate, textOf } from './support.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('seed 002 behaviours', () => {
  describe.each(CLIENTS)('for %s', (_client, transport) => {
    // Seed 002: 30 s after the exit. Today: 30 s after the close, so that late output is not cut off.
    describe('retention of an exited process', () => {
      test.each([
        ['30 s unless told otherwise', 30_000, {}],
        ['as long as the settings say', 250, { closedRetentionMs: 250 }],
      ])('is counted in time: %s', async (_name, retentionMs, options) => {
        vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
        await using server = await startServer(transport, options);
        const client = await server.connect();
        await client.run('p', 'echo kept; exit 4');
        await vi.advanceTimersByTimeAsync(retentionMs - 1);
        const kept = await read(client, 'p');
        expect(kept).toMatchObject({ exited: true, exitCode: 4, closed: true, nextSeq: 4 });
        expect(textOf(kept)).toBe('kept\n');
        expect(await refusal(client.start('p', ['true']))).toBe('-32600 process p already exists');
        await vi.advanceTimersByTimeAsync(1);
        expect(await refusal(read(client, 'p'))).toBe('-32600 unknown process id p');
        expect(await terminate(client, 'p')).toEqual({ running: false });
        await client.start('p', ['sleep', '300']);
      });

      test('does not begin while a descendant still holds the output', async () => {
        vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
        await using server = await startServer(transport, { closedRetentionMs: 1_000 });
        const client = await server.connect();
        await client.start('p', ['sh', '-c', 'sleep 300 & exit 4']);
        await client.notification(({ method }) => method === 'process/exited');
        await vi.advanceTimersByTimeAsync(10_000);
        expect(await read(client, 'p')).toMatchObject({ exited: true, exitCode: 4, closed: false });
      });

      test('of one process does not touch another', async () => {
        vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
        await using server = await startServer(transport, { closedRetentionMs: 1_000 });
        const client = await server.connect();
        await client.start('alive', ['sleep', '300']);
        await client.run('first', 'exit 1');
        await vi.advanceTimersByTimeAsync(600);
        await client.run('second', 'exit 2');
        await vi.advanceTimersByTimeAsync(400);
        expect(await refusal(read(client, 'first'))).toBe('-32600 unknown process id first');
        expect(await read(client, 'second')).toMatchObject({ exitCode: 2 });
        expect(await read(client, 'alive')).toMatchObject({ exited: false });
      });
    });
  });
});
