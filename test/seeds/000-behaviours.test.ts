/** What seed 000 does and does not say in a test: the handshake, the retained output, the order. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeRequest } from '../../src/wire/encode.ts';
import type { TestClient } from '../support/client.ts';
import { startServer } from '../support/server.ts';
import { HeldSpawner } from './held-spawner.ts';
import { CLIENTS, execParams, read, refusal, terminate, textOf, toBase64 } from './support.ts';

describe('seed 000 behaviours', () => {
  describe.each(CLIENTS)('for %s', (_client, transport) => {
    test('a failed initialize does not use up the one allowed', async () => {
      await using server = await startServer(transport, { authToken: 'secret-token', maxSessions: 1 });
      const client = await server.open();
      const initialize = (authToken: string): Promise<string> =>
        refusal(client.request('initialize', { clientName: 'test', authToken }));
      expect(await initialize('wrong-token')).toBe('-32001 invalid exec-server auth token');
      expect(await refusal(client.request('process/start', execParams('proc-1')))).toBe(
        '-32600 client must call initialize before using exec methods',
      );
      expect(await initialize('wrong-again')).toBe('-32001 invalid exec-server auth token');
      expect(await initialize('secret-token')).toBe('not refused');
      expect(await initialize('secret-token')).toBe('-32600 initialize may only be sent once per connection');
    });

    // March knew no sessions, so a bad token was the only failure.
    test('an initialize that names an unknown session does not use up the one allowed either', async () => {
      await using server = await startServer(transport);
      const client = await server.open();
      expect(await refusal(client.initialize('nobody'))).toBe('-32600 unknown session id nobody');
      await client.initialize();
      expect((await client.run('p', 'echo fine')).stdout).toBe('fine\n');
    });

    test('initialized after a failed initialize is still too early', async () => {
      await using server = await startServer(transport, { authToken: 'secret-token' });
      const client = await server.open();
      expect(await refusal(client.request('initialize', { clientName: 'test' }))).toMatch(/^-32001 /);
      client.notify('initialized');
      await client.connection.closed;
      expect(server.log).toContainEqual(expect.stringContaining('notification before `initialize`'));
    });

    // March: one warning for every chunk dropped. Today: one for each process, because a flood would drown the log.
    test('eviction from the retained output is logged as a warning, with the process that lost it', async () => {
      const retainBytes = 1024 * 1024;
      await using server = await startServer(transport);
      const client = await server.connect();
      await client.run('small', 'echo nothing is dropped of this');
      const { stdout, seqs } = await client.run('big', 'seq 1 400000');
      expect(Buffer.byteLength(stdout)).toBeGreaterThan(2 * retainBytes);
      // Asking for what follows the last event says that everything before it was read and may go.
      await read(client, 'big', { afterSeq: seqs.at(-1) });
      const kept = await read(client, 'big');
      const text = textOf(kept);
      expect(text.length).toBeLessThanOrEqual(retainBytes);
      expect(text.length).toBeGreaterThan(retainBytes - 8192);
      expect(stdout.endsWith(text)).toBe(true);
      expect(kept).toMatchObject({ firstSeq: kept.chunks[0]?.seq, lostBytes: stdout.length - text.length });
      const warnings = server.log.filter((line) => line.includes('retained output cap exceeded'));
      expect(warnings).toEqual([
        `warn retained output cap exceeded for process big; dropping oldest output {"session":"${client.sessionId}"}`,
      ]);
    });

    test('requests of one connection wait for the one before them', async () => {
      const spawner = new HeldSpawner();
      await using server = await startServer(transport, { spawner });
      const client = await server.connect();
      using hold = spawner.hold();
      const params = { ...execParams('p'), argv: ['cat'], pipeStdin: true };
      const last = client.answerTo(9_004);
      client.connection.send(encodeRequest(9_001, 'process/start', params));
      client.connection.send(
        encodeRequest(9_002, 'process/write', { processId: 'p', chunk: toBase64('hi'), writeId: '1' }),
      );
      client.connection.send(encodeRequest(9_003, 'process/read', { processId: 'p' }));
      client.connection.send(encodeRequest(9_004, 'process/read', { processId: 'nobody' }));
      await spawner.attempt(0);
      // Control calls do not wait (March: everything did), so this answer says that the others have been taken in.
      expect(await client.request('environment/status')).toEqual({ status: 'ready' });
      expect(answeredIds(client)).toEqual([]);
      hold.release();
      await last;
      expect(answeredIds(client)).toEqual([9_001, 9_002, 9_003, 9_004]);
      expect(client.messages).toContainEqual({ type: 'response', id: 9_002, result: { status: 'accepted' } });
      await terminate(client, 'p');
    });

    test('whatever is asked, the answers come in the order of the requests', async () => {
      await using server = await startServer(transport);
      const requests = {
        start: (id: string) => ['process/start', { ...execParams(id), argv: ['true'] }],
        'start again': () => ['process/start', { ...execParams('0'), argv: ['true'] }],
        'start what is not there': (id: string) => ['process/start', { ...execParams(id), argv: ['/nonexistent'] }],
        'start on a terminal': (id: string) => ['process/start', { ...execParams(id), argv: ['true'], tty: true }],
        read: () => ['process/read', { processId: '0' }],
        write: () => ['process/write', { processId: '0', chunk: '', writeId: '1' }],
      } satisfies Record<string, (id: string) => [string, object]>;
      const kinds = fc.array(fc.constantFrom(...Object.values(requests)), { minLength: 2, maxLength: 12 });
      const inOrder = fc.asyncProperty(kinds, async (makers) => {
        const client = await server.connect();
        const ids = makers.map((_, index) => 9_001 + index);
        const last = client.answerTo(9_000 + makers.length);
        for (const [index, make] of makers.entries()) {
          const [method, params] = make(String(index));
          client.connection.send(encodeRequest(9_001 + index, String(method), params));
        }
        await last;
        expect(answeredIds(client)).toEqual(ids);
        await client.drop();
      });
      await fc.assert(inOrder, { numRuns: 15 });
    });
  });
});

/** The ids from 9001 on that have been answered, in the order of the answers. */
function answeredIds(client: TestClient): unknown[] {
  return client.messages.flatMap((message) =>
    (message.type === 'response' || message.type === 'error') && Number(message.id) > 9_000 ? [message.id] : [],
  );
}
