/** Who may say what when, the same over every transport. */
import { describe, expect, test } from 'vitest';
import { failure } from '../support/client.ts';
import { startServer, TRANSPORTS } from '../support/server.ts';

describe.each(TRANSPORTS)('over %s', (transport) => {
  test('methods need initialize, then initialized', async () => {
    await using server = await startServer(transport);
    const client = await server.open();
    expect(await failure(client.request('environment/status'))).toBe(
      '-32600 client must call initialize before using environment status methods',
    );
    await client.request('initialize', { clientName: 'test' });
    expect(await failure(client.request('process/read', { processId: 'p' }))).toBe(
      '-32600 client must send initialized before using exec methods',
    );
    client.notify('initialized');
    expect(await client.request('environment/status')).toEqual({ status: 'ready' });
    expect(await failure(client.request('initialize', { clientName: 'test' }))).toBe(
      '-32600 initialize may only be sent once per connection',
    );
  });

  test('a malformed message is answered with id -1 and the connection lives', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const answer = client.next((message) => message.type === 'error' && message.id === -1);
    client.connection.send('{"id":1,"id":2}');
    expect(await answer).toMatchObject({
      error: { code: -32600, message: expect.stringMatching(/duplicate JSON object key `id`/) },
    });
    expect(await client.request('environment/status')).toEqual({ status: 'ready' });
  });

  test('an unknown method is refused, an unknown notification ends the connection', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    expect(await failure(client.request('nope'))).toBe('-32601 unknown method `nope`');
    expect(await failure(client.request('toString'))).toBe('-32601 unknown method `toString`');
    expect(await failure(client.request('initialized'))).toBe('-32601 unknown method `initialized`');
    client.notify('nope');
    await client.connection.closed;
  });

  test('an answer nobody asked for ends the connection', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    client.connection.send('{"id":9,"result":{}}');
    await client.connection.closed;
  });

  test('a required token must come with initialize, and a wrong one does not use it up', async () => {
    await using server = await startServer(transport, { authToken: 'secret' });
    const client = await server.open();
    const refusal = '-32001 invalid exec-server auth token';
    expect(await failure(client.request('initialize', { clientName: 'test' }))).toBe(refusal);
    expect(await failure(client.request('initialize', { clientName: 'test', authToken: 'wrong' }))).toBe(refusal);
    await client.initialize(undefined, { authToken: 'secret' });
    expect(await client.request('environment/status')).toEqual({ status: 'ready' });
    expect(server.log.join('\n')).not.toContain('secret');
  });

  test('methods of later work say that they are not there yet, behind decoding and the gate', async () => {
    await using server = await startServer(transport);
    const client = await server.open();
    expect(await failure(client.request('fs/readFile', {}))).toBe('-32602 missing field `path`');
    expect(await failure(client.request('fs/readFile', { path: 'file:///tmp/x' }))).toMatch(/before using filesystem/);
    await client.initialize();
    expect(await failure(client.request('fs/readFile', { path: 'file:///tmp/x' }))).toBe(
      '-32603 fs/readFile is not implemented yet',
    );
  });

  test('ids are echoed exactly', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    for (const id of ['9223372036854775807', '-9223372036854775808', '"text"', '""', '0']) {
      const answer = client.next((message) => message.type === 'response');
      client.connection.send(`{"id":${id},"method":"environment/status"}`);
      const { id: echoed } = (await answer) as { id: unknown };
      expect(typeof echoed === 'bigint' ? String(echoed) : JSON.stringify(echoed)).toBe(id);
    }
  });

  test('the server tells what it is and only what works', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const info = await client.request<Record<string, unknown>>('environment/info');
    expect(info).toMatchObject({
      shell: { path: expect.stringMatching(/^\//) },
      executorVersion: '0.166.0+farhand.0.0.0-test',
      providerId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      cwd: 'file:///tmp',
      userHomeDir: 'file:///tmp',
    });
    expect(Object.values(info.capabilities as object)).toEqual(Array(15).fill(false));
  });
});
