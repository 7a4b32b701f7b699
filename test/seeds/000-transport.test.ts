/** The tests of the seed's `server/transport.rs`. */
import { describe, expect, test } from 'vitest';
import { parseListenUrl } from '../../src/transport/index.ts';

describe('transport::tests', () => {
  test('exec_server_transport_parses_websocket_listen_url', () => {
    expect(parseListenUrl('ws://127.0.0.1:1234')).toEqual({ type: 'websocket', host: '127.0.0.1', port: 1234 });
  });

  test('exec_server_transport_rejects_invalid_websocket_listen_url', () => {
    expect(() => parseListenUrl('ws://localhost:1234')).toThrow(
      new Error('invalid websocket --listen URL `ws://localhost:1234`; expected `ws://IP:PORT`'),
    );
  });

  // March had no stdio transport, so its text ended after `ws://IP:PORT`.
  test('exec_server_transport_rejects_unsupported_listen_url', () => {
    expect(() => parseListenUrl('http://127.0.0.1:1234')).toThrow(
      new Error('unsupported --listen URL `http://127.0.0.1:1234`; expected `ws://IP:PORT` or `stdio`'),
    );
  });
});
