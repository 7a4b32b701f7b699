/** The seed's `server/handler/tests.rs`, test for test. Where the wire has changed since, today's form is tested. */
import { describe, expect, test } from 'vitest';
import { startServer } from '../support/server.ts';
import { HeldSpawner } from './held-spawner.ts';
import { CLIENTS, execParams, refusal, terminate, write } from './support.ts';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('handler::tests', () => {
  describe.each(CLIENTS)('for %s', (_client, transport) => {
    // March: {"protocolVersion":"exec-server.v0"}. Today: who you are talking to and the session you got.
    test('initialize_reports_protocol_version', async () => {
      await using server = await startServer(transport);
      const client = await server.open();
      const result = await client.request('initialize', { clientName: 'test' });
      expect(Object.keys(result)).toEqual(['sessionId', 'environmentInfo']);
      expect(result).toMatchObject({
        sessionId: expect.stringMatching(UUID_V4),
        environmentInfo: { executorVersion: '0.166.0+farhand.0.0.0-test', cwd: 'file:///tmp' },
      });
    });

    test('exec_methods_require_initialize', async () => {
      const spawner = new HeldSpawner();
      await using server = await startServer(transport, { spawner });
      const client = await server.open();
      expect(await refusal(client.request('process/start', execParams('proc-1')))).toBe(
        '-32600 client must call initialize before using exec methods',
      );
      expect(spawner.requests).toEqual([]);
    });

    test('exec_methods_require_initialized_notification_after_initialize', async () => {
      const spawner = new HeldSpawner();
      await using server = await startServer(transport, { spawner });
      const client = await server.open();
      await client.request('initialize', { clientName: 'test' });
      expect(await refusal(client.request('process/start', execParams('proc-1')))).toBe(
        '-32600 client must send initialized before using exec methods',
      );
      expect(spawner.requests).toEqual([]);
    });

    // March: the handler returns the text and the connection ends. Today: the same, and the text is in the log.
    test('initialized_before_initialize_is_a_protocol_error', async () => {
      await using server = await startServer(transport);
      const client = await server.open();
      client.notify('initialized');
      await client.connection.closed;
      expect(client.messages).toEqual([]);
      expect(server.log).toContainEqual(
        expect.stringMatching(/^warn .*"reason":"received `initialized` notification before `initialize`"/),
      );
    });

    test('initialize_may_only_be_sent_once_per_connection', async () => {
      await using server = await startServer(transport);
      const client = await server.open();
      await client.request('initialize', { clientName: 'test' });
      expect(await refusal(client.request('initialize', { clientName: 'test' }))).toBe(
        '-32600 initialize may only be sent once per connection',
      );
    });

    // March: the token of `initialize` was the only authentication. Today it comes with the HTTP upgrade; a server that
    // is given a token for `initialize` still asks for it.
    test('initialize_rejects_invalid_auth_token', async () => {
      await using server = await startServer(transport, { authToken: 'secret-token' });
      const client = await server.open();
      for (const authToken of ['wrong-token', 'secret-token ', '', null, undefined]) {
        expect(await refusal(client.request('initialize', { clientName: 'test', authToken }))).toBe(
          '-32001 invalid exec-server auth token',
        );
      }
    });

    // March: -32600 "sandbox mode `hostDefault` is not supported by exec-server yet". Today a sandbox is a set of
    // permissions, so the old form is refused when it is decoded.
    test('exec_rejects_host_default_sandbox_mode', async () => {
      const spawner = new HeldSpawner();
      await using server = await startServer(transport, { spawner });
      const client = await server.connect();
      const params = { ...execParams('proc-1'), sandbox: { mode: 'hostDefault' } };
      expect(await refusal(client.request('process/start', params))).toBe('-32602 missing field `permissions`');
      expect(spawner.requests).toEqual([]);
    });

    // March: the result was {processId} alone.
    test('exec_rejects_duplicate_process_ids', async () => {
      const spawner = new HeldSpawner();
      await using server = await startServer(transport, { spawner });
      const client = await server.connect();
      expect(await client.request('process/start', execParams('proc-1'))).toEqual({
        processId: 'proc-1',
        sandboxType: 'none',
      });
      expect(await refusal(client.request('process/start', execParams('proc-1')))).toBe(
        '-32600 process proc-1 already exists',
      );
      expect(spawner.requests).toHaveLength(1);
      expect(await terminate(client, 'proc-1')).toEqual({ running: true });
    });

    // March: -32600 "unknown process id missing". Today it is a result, because a client that resends a write after a
    // reconnect must be able to tell.
    test('write_rejects_unknown_process_ids', async () => {
      await using server = await startServer(transport);
      const client = await server.connect();
      expect(await write(client, 'missing', 'input')).toEqual({ status: 'unknownProcess' });
    });

    test('terminate_reports_missing_processes_as_not_running', async () => {
      await using server = await startServer(transport);
      const client = await server.connect();
      expect(await terminate(client, 'missing')).toEqual({ running: false });
    });
  });
});
