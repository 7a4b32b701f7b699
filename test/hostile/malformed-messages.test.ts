/** What is no message: each is refused with id -1 over a real socket, in any state of the handshake, and life goes on. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BINARY, frame, RawPeer, TEXT } from '../support/raw-websocket.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { Bystander } from './support/bystander.ts';
import { RawSession } from './support/raw-session.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer('websocket');
});
afterAll(async () => await server[Symbol.asyncDispose]());

const BAD_ID = 'data did not match any variant of untagged enum RequestId';
const numbers = (count: number): string => `{"id":77,"method":"m","params":[${Array(count).fill('0').join()}]}`;
/** A request whose deepest array is at this level, the root counted. */
const nested = (levels: number): string =>
  `{"id":77,"method":"m","params":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

/** The answer to one message, as it was written, with the peer's own address made plain. */
async function answerTo(peer: RawPeer, message: string | Uint8Array, opcode = TEXT): Promise<string | undefined> {
  peer.write(frame(opcode, message));
  const answer = await peer.next();
  return answer?.payload.toString().replace(`127.0.0.1:${peer.socket.localPort}`, 'PEER');
}

const refusal = (detail: string): string =>
  JSON.stringify({
    error: {
      code: -32600,
      message: `failed to parse websocket JSON-RPC message from exec-server websocket PEER: ${detail}`,
    },
    id: -1,
  });
const UNKNOWN_METHOD = /^\{"error":\{"code":-32601,"message":"[^"]*`m`[^"]*"\},"id":77\}$/;

const REFUSED: [what: string, message: string, detail: string][] = [
  ['nothing', '', 'EOF while parsing a value at line 1 column 0'],
  ['only blanks', ' \n ', 'EOF while parsing a value at line 2 column 1'],
  ['no JSON', 'oops', 'expected value at line 1 column 1'],
  ['half a literal', 'nul', 'EOF while parsing a value at line 1 column 3'],
  ['a literal with a wrong letter', 'nope', 'expected ident at line 1 column 2'],
  ['an object cut off', '{"id":77,"method":"m"', 'EOF while parsing an object at line 1 column 21'],
  ['a string cut off', '{"id":77,"method":"m', 'EOF while parsing a string at line 1 column 20'],
  ['a byte order mark', '\ufeff{"id":77,"method":"m"}', 'expected value at line 1 column 1'],
  ['a batch', '[{"id":77,"method":"m"}]', 'expected a JSON-RPC object'],
  ['a number', '5', 'expected a JSON-RPC object'],
  ['null', 'null', 'expected a JSON-RPC object'],
  ['an empty object', '{}', 'missing field `error`'],
  ['an id alone', '{"id":77}', 'missing field `error`'],
  ['a result alone', '{"result":1}', 'missing field `id`'],
  ['an error that is no object', '{"id":7,"error":"x"}', 'invalid type: string "x", expected struct JSONRPCErrorError'],
  ['an error without a message', '{"error":{"code":1},"id":1}', 'missing field `message`'],
  ['a null id', '{"id":null,"method":"m"}', BAD_ID],
  ['a boolean id', '{"id":true,"method":"m"}', BAD_ID],
  ['an array as id', '{"id":[],"method":"m"}', BAD_ID],
  ['an object as id', '{"id":{},"method":"m"}', BAD_ID],
  ['an id with a fraction', '{"id":1.0,"method":"m"}', BAD_ID],
  ['an id with an exponent', '{"id":1e2,"method":"m"}', BAD_ID],
  ['an id beyond 64 bits', '{"id":9223372036854775808,"method":"m"}', BAD_ID],
  ['an id of a million digits', `{"id":${'9'.repeat(1_000_000)},"method":"m"}`, BAD_ID],
  ['a method that is a number', '{"id":77,"method":5}', 'invalid type: number, expected a string'],
  [
    'a trace that is a string',
    '{"id":77,"method":"m","trace":"x"}',
    'invalid type: string "x", expected struct W3cTraceContext',
  ],
  [
    'a trace with a number in it',
    '{"id":77,"method":"m","trace":{"traceparent":5}}',
    'invalid type: number, expected a string',
  ],
  ['an id twice', '{"id":3,"id":4,"method":"m"}', 'duplicate JSON object key `id` at line 1 column 12'],
  [
    'a key twice far below',
    '{"id":77,"method":"m","params":[[{"a":[{"b":1,"b":2}]}]]}',
    'duplicate JSON object key `b` at line 1 column 49',
  ],
  [
    'a key twice in two spellings',
    '{"id":77,"method":"m","params":{"a":1,"\\u0061":2}}',
    'duplicate JSON object key `a` at line 1 column 46',
  ],
  [
    '`__proto__` twice',
    '{"id":77,"method":"m","params":{"__proto__":1,"__proto__":2}}',
    'duplicate JSON object key `__proto__` at line 1 column 57',
  ],
  [
    'a second message behind the first',
    '{"id":77,"method":"m"}{"id":78,"method":"m"}',
    'trailing characters at line 1 column 23',
  ],
  ['half a surrogate pair', '{"id":"\\ud800","method":"m"}', 'unexpected end of hex escape at line 1 column 14'],
  [
    'a NUL in a string',
    '{"id":77,"method":"m\0"}',
    'control character (\\u0000-\\u001F) found while parsing a string at line 1 column 21',
  ],
  ['a NUL between the members', '{"id":77,\0"method":"m"}', 'key must be a string at line 1 column 10'],
  [
    'one value too many',
    numbers(262_141),
    'JSON-RPC message exceeds the limit of 262144 JSON values at line 1 column 524312',
  ],
  ['one level too many', nested(128), 'recursion limit exceeded at line 1 column 158'],
  ['ten megabytes of brackets', '['.repeat(10_000_000), 'recursion limit exceeded at line 1 column 128'],
  ['ten megabytes of braces', '{"":'.repeat(2_500_000), 'recursion limit exceeded at line 1 column 509'],
];

test.each(REFUSED)('%s is refused with id -1 and the connection stays up', async (_what, message, detail) => {
  await using peer = await RawPeer.open(server.url);
  expect(await answerTo(peer, message)).toBe(refusal(detail));
  expect(await answerTo(peer, '{"id":77,"method":"m"}')).toMatch(UNKNOWN_METHOD);
});

const ACCEPTED: [what: string, message: string][] = [
  ['262144 values', numbers(262_140)],
  ['127 levels', nested(127)],
  ['blanks around it', ' \n\r\t{"id":77,"method":"m"} \n'],
  ['unknown members, `jsonrpc` among them', '{"jsonrpc":5,"id":77,"x":[{}],"method":"m","result":1,"error":2}'],
  ['a trace of nonsense', '{"id":77,"method":"m","trace":{"traceparent":"?","tracestate":null}}'],
];

test.each(ACCEPTED)('a message with %s is a message', async (_what, message) => {
  await using peer = await RawPeer.open(server.url);
  expect(await answerTo(peer, message)).toMatch(UNKNOWN_METHOD);
});

test.each([
  ['9223372036854775807', '9223372036854775807'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['""', '""'],
  ['"\\u0000\\ud83d\\ude00"', '"\\u0000\u{1f600}"'],
])('the id %s comes back as it was', async (sent, received) => {
  await using peer = await RawPeer.open(server.url);
  const answer = await answerTo(peer, `{"id":${sent},"method":"m"}`);
  expect(answer?.slice(answer.lastIndexOf('"id":'))).toBe(`"id":${received}}`);
});

test('bytes that are not UTF-8 are malformed in a binary message and end the connection in a text one', async () => {
  await using peer = await RawPeer.open(server.url);
  const bytes = Buffer.from('{"id":77,"method":"?"}', 'latin1').fill(0xff, 19, 20);
  expect(await answerTo(peer, bytes, BINARY)).toBe(refusal('invalid unicode code point at line 1 column 21'));
  expect(await answerTo(peer, '{"id":77,"method":"m"}', BINARY)).toMatch(UNKNOWN_METHOD);
  expect(await answerTo(peer, bytes)).toBeUndefined();
});

describe('in every state of the handshake', () => {
  test('a malformed message is answered the same', async () => {
    await using peer = await RawPeer.open(server.url);
    const expected = refusal('expected value at line 1 column 1');
    expect(await answerTo(peer, 'oops')).toBe(expected);
    expect(await answerTo(peer, '{"id":1,"method":"initialize","params":{"clientName":"x"}}')).toMatch(/^\{"id":1/);
    expect(await answerTo(peer, 'oops')).toBe(expected);
    peer.write(frame(TEXT, '{"method":"initialized"}'));
    expect(await answerTo(peer, 'oops')).toBe(expected);
  });

  const DROPPED: [what: string, message: string][] = [
    ['a notification nobody knows', '{"method":"surprise"}'],
    ['a request method sent as a notification', '{"method":"process/start","params":{}}'],
    ['a notification that only servers send', '{"method":"process/closed","params":{"processId":"p","seq":1}}'],
    ['a notification called `__proto__`', '{"method":"__proto__"}'],
    ['a response to a question never asked', '{"id":1,"result":null}'],
    ['an error answer to a question never asked', '{"error":{"code":1,"message":"x"},"id":"1"}'],
  ];

  test.each(DROPPED)('%s ends the connection without a word', async (_what, message) => {
    await using fresh = await RawPeer.open(server.url);
    expect(await answerTo(fresh, message)).toBeUndefined();
    await using ready = await RawSession.open(server.url);
    expect(await answerTo(ready.peer, message)).toBeUndefined();
  });

  test('`initialized` before `initialize` ends the connection without a word', async () => {
    await using peer = await RawPeer.open(server.url);
    expect(await answerTo(peer, '{"method":"initialized"}')).toBeUndefined();
  });

  test('`initialized` may come again and again, with anything inside', async () => {
    await using session = await RawSession.open(server.url);
    for (const params of ['null', '{}', '[1]', '"x"', '5']) {
      session.peer.write(frame(TEXT, `{"method":"initialized","params":${params}}`));
    }
    expect(await session.request('environment/status')).toMatchObject({ result: { status: 'ready' } });
  });

  test.each(['m', 'initialized', 'Initialize', 'process/Start', '__proto__', 'constructor', 'toString', '', '\0'])(
    'a request for %j is an unknown method, initialized or not',
    async (method) => {
      await using peer = await RawPeer.open(server.url);
      const message = JSON.stringify({ id: 77, method, params: { clientName: 'x' } });
      expect(JSON.parse((await answerTo(peer, message)) ?? '')).toMatchObject({ id: 77, error: { code: -32601 } });
      await using ready = await RawSession.open(server.url);
      expect(await ready.request(method)).toMatchObject({ error: { code: -32601 } });
    },
  );
});

test('a flood of everything that is malformed holds up nobody', async () => {
  await using bystander = new Bystander(await server.connect());
  await using peer = await RawPeer.open(server.url);
  const small = REFUSED.filter(([, message]) => message.length < 1_000);
  for (let round = 0; round < 100; round += 1) {
    for (const [, message] of small) peer.write(frame(TEXT, message));
    for (const [, , detail] of small) {
      expect((await peer.next())?.payload.toString()).toContain(JSON.stringify(detail).slice(1, -1));
    }
  }
  await bystander.noticedNothing();
});
