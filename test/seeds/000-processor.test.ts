/** The tests of the seed's `server/processor.rs`: whole messages, ids included. */
import { describe, expect, test } from 'vitest';
import { encodeRequest, OutputEncoder } from '../../src/wire/encode.ts';
import { startServer } from '../support/server.ts';
import { CLIENTS, execParams } from './support.ts';

describe('processor::tests', () => {
  describe.each(CLIENTS)('for %s', (_client, transport) => {
    // March: {"protocolVersion":"exec-server.v0"}.
    test('dispatch_initialize_returns_initialize_response', async () => {
      await using server = await startServer(transport);
      const client = await server.open();
      const answer = client.answerTo(1);
      client.connection.send(encodeRequest(1, 'initialize', { clientName: 'test' }));
      expect(await answer).toMatchObject({
        type: 'response',
        id: 1,
        result: { sessionId: expect.any(String), environmentInfo: { platformOs: process.platform } },
      });
    });

    // March: `cwd` was a plain path; today that would be refused first, when the parameters are decoded.
    test('dispatch_exec_returns_invalid_request_before_initialize', async () => {
      await using server = await startServer(transport);
      const client = await server.open();
      const answer = client.answerTo(7);
      const params = { ...execParams('proc-1'), argv: ['bash', '-lc', 'true'], tty: true };
      client.connection.send(encodeRequest(7, 'process/start', params));
      expect(await answer).toEqual({
        type: 'error',
        id: 7,
        error: { code: -32600, message: 'client must call initialize before using exec methods' },
      });
    });

    test('initialized_notification_before_initialize_is_protocol_error', async () => {
      await using server = await startServer(transport);
      const client = await server.open();
      client.connection.send('{"method":"initialized","params":{}}');
      await client.connection.closed;
      expect(client.messages).toEqual([]);
      expect(server.log).toContainEqual(
        expect.stringContaining('"reason":"received `initialized` notification before `initialize`"'),
      );
    });

    // March: {processId, stream, chunk}. Today the event has its number as well.
    test('notification_message_serializes_process_output', async () => {
      await using server = await startServer(transport);
      const client = await server.connect();
      await client.run('proc-1', 'printf hello');
      const [output] = client.events('proc-1');
      expect(output).toEqual({
        method: 'process/output',
        params: { processId: 'proc-1', seq: 1, stream: 'stdout', chunk: 'aGVsbG8=' },
      });
      expect(Object.keys(output?.params ?? {})).toEqual(['processId', 'seq', 'stream', 'chunk']);
    });
  });

  test('notification_message_serializes_process_output, to the letter', () => {
    const frame = new OutputEncoder('proc-1').encode(1, 'stdout', Buffer.from('hello'));
    expect(Buffer.from(frame).toString()).toBe(
      '{"method":"process/output","params":{"processId":"proc-1","seq":1,"stream":"stdout","chunk":"aGVsbG8="}}',
    );
  });
});
