/** Params that do not fit: -32602 with the reason, before the handshake is even looked at, and nothing happens. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { frame, RawPeer, TEXT } from '../support/raw-websocket.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { RawSession } from './support/raw-session.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer('websocket');
});
afterAll(async () => await server[Symbol.asyncDispose]());

type Outcome = { code: number; message: string } | 'accepted';

/** Sends the params as they are written here. */
async function outcome(peer: RawPeer, method: string, params: string | undefined): Promise<Outcome> {
  peer.write(frame(TEXT, `{"id":77,"method":"${method}"${params === undefined ? '' : `,"params":${params}`}}`));
  const answer = JSON.parse((await peer.next())?.payload.toString() ?? '{}');
  expect(answer.id).toBe(77);
  return answer.error ?? 'accepted';
}

const START = '"processId":"p","argv":["true"],"cwd":"file:///tmp","env":{},"tty":false';
const WRITE = '"processId":"p","writeId":"1"';
const POLICY = '"inherit":"all","ignoreDefaultExcludes":true,"exclude":[],"set":{}';

const REFUSED: [method: string, params: string | undefined, text: string][] = [
  ['environment/info', '[]', 'invalid type: sequence, expected unit'],
  ['environment/info', '{"x":1}', 'invalid type: map, expected unit'],
  ['environment/status', '0', 'invalid type: number, expected unit'],
  ['initialize', undefined, 'invalid type: null, expected struct InitializeParams'],
  ['initialize', '{}', 'missing field `clientName`'],
  ['initialize', '{"clientName":null}', 'invalid type: null, expected a string'],
  ['initialize', '{"clientName":true}', 'invalid type: boolean `true`, expected a string'],
  ['initialize', '{"clientName":{}}', 'invalid type: map, expected a string'],
  ['initialize', '{"clientName":"x","resumeSessionId":5}', 'invalid type: number, expected a string'],
  ['initialize', '{"__proto__":{"clientName":"x"}}', 'missing field `clientName`'],
  ['initialize', '[]', 'invalid length 0, expected struct InitializeParams with 2 elements'],
  ['initialize', '["x",null,1]', 'invalid length 3, expected fewer elements in array'],
  ['process/read', '"p"', 'invalid type: string "p", expected struct ReadParams'],
  ['process/read', '5', 'invalid type: number, expected struct ReadParams'],
  ['process/read', '["p"]', 'invalid length 1, expected struct ReadParams with 4 elements'],
  ['process/read', '["p",0,0,0,0]', 'invalid length 5, expected fewer elements in array'],
  ['process/read', '{"afterSeq":1}', 'missing field `processId`'],
  ['process/read', '{"waitMs":"x"}', 'invalid type: string "x", expected u64'],
  ['process/read', '{"processId":"p","afterSeq":-1}', 'invalid number'],
  ['process/read', '{"processId":"p","afterSeq":1.5}', 'invalid number'],
  ['process/read', '{"processId":"p","maxBytes":1e3}', 'invalid number'],
  ['process/read', '{"processId":"p","waitMs":18446744073709551616}', 'invalid number'],
  ['process/read', `{"processId":"p","waitMs":${'9'.repeat(100_000)}}`, 'invalid number'],
  ['process/write', `{${WRITE},"chunk":"!"}`, 'Invalid symbol 33, offset 0.'],
  ['process/write', `{${WRITE},"chunk":"YQ"}`, 'Invalid padding'],
  ['process/write', `{${WRITE},"chunk":[1]}`, 'invalid type: sequence, expected a string'],
  ['process/write', '{"processId":"p","chunk":""}', 'missing field `writeId`'],
  ['process/signal', '{"processId":"p","signal":{"interrupt":0}}', 'invalid type: number, expected unit'],
  ['process/signal', '{"processId":"p","signal":9}', 'invalid type: number, expected string or map'],
  ['process/terminate', '{"processId":["p"]}', 'invalid type: sequence, expected a string'],
  ['process/start', `{${START},"cwd2":0,"pipeStdin":null}`, 'invalid type: null, expected a boolean'],
  ['process/start', '{"processId":"p","argv":"true"}', 'invalid type: string "true", expected a sequence'],
  ['process/start', '{"processId":"p","argv":[null]}', 'invalid type: null, expected a string'],
  ['process/start', '{"processId":"p","env":[]}', 'invalid type: sequence, expected a map'],
  ['process/start', '{"processId":"p","env":{"A":1}}', 'invalid type: number, expected a string'],
  ['process/start', '{"processId":"p","cwd":"/tmp"}', 'invalid URI: relative URL without a base'],
  ['process/start', '{"processId":"p","cwd":""}', 'invalid URI: relative URL without a base'],
  ['process/start', '{"processId":"p","cwd":"http://x/"}', 'unsupported path URI scheme `http`'],
  ['process/start', '{"processId":"p","cwd":"file:///tmp?x"}', 'query parameters are not allowed in path URIs'],
  ['process/start', `{${START},"envPolicy":{}}`, 'missing field `inherit`'],
  [
    'process/start',
    `{${START},"envPolicy":{${POLICY.replace('all', 'bogus')}}}`,
    'unknown variant `bogus`, expected one of `core`, `all`, `none`',
  ],
  ['process/start', `{${START},"envPolicy":{${POLICY}}}`, 'missing field `includeOnly`'],
  ['process/start', `{${START},"size":{"rows":65536,"cols":1}}`, 'invalid number'],
  ['process/resize', '{"processId":"p","size":{"rows":-1,"cols":1}}', 'invalid number'],
  ['process/flow', '{"processId":"p","paused":1}', 'invalid type: number, expected a boolean'],
];
const CASES = REFUSED.map(([method, params, text]) => ({ shown: params?.slice(0, 80), method, params, text }));

test.each(CASES)('before the handshake $method with $shown is refused', async ({ method, params, text }) => {
  await using peer = await RawPeer.open(server.url);
  expect(await outcome(peer, method, params)).toEqual({ code: -32602, message: text });
  expect(await outcome(peer, 'no/such', '{}')).toMatchObject({ code: -32601 });
});

const LATER = CASES.filter(({ method }) => method !== 'initialize');
test.each(LATER)('after the handshake $method with $shown is refused', async ({ method, params, text }) => {
  await using session = await RawSession.open(server.url);
  expect(await outcome(session.peer, method, params)).toEqual({ code: -32602, message: text });
  expect(await outcome(session.peer, 'environment/status', undefined)).toBe('accepted');
});

describe('odd spellings that the protocol allows', () => {
  const ACCEPTED: [method: string, params: string | undefined][] = [
    ['environment/info', undefined],
    ['environment/info', 'null'],
    ['environment/info', '{}'],
    ['process/signal', '["nobody","interrupt"]'],
    ['process/signal', '{"processId":"nobody","signal":{"interrupt":null}}'],
    ['process/terminate', '["nobody"]'],
    ['process/terminate', '{"processId":"nobody","__proto__":null,"constructor":1,"x":[[]]}'],
    ['process/write', '["nobody","","1"]'],
  ];
  test.each(ACCEPTED)('%s with %s', async (method, params) => {
    await using ready = await RawSession.open(server.url);
    expect(await outcome(ready.peer, method, params)).toBe('accepted');
  });

  test('initialize with an array', async () => {
    await using peer = await RawPeer.open(server.url);
    expect(await outcome(peer, 'initialize', '["x",null]')).toBe('accepted');
  });

  test('numbers up to the last of 64 bits', async () => {
    await using ready = await RawSession.open(server.url);
    const most = '18446744073709551615';
    const params = `{"processId":"nobody","afterSeq":${most},"maxBytes":${most},"waitMs":${most}}`;
    expect(await outcome(ready.peer, 'process/read', params)).toEqual({
      code: -32600,
      message: 'unknown process id nobody',
    });
  });
});

test('an error about a huge string does not send all of it back', async () => {
  await using ready = await RawSession.open(server.url);
  const huge = JSON.stringify('x'.repeat(5_000_000));
  const answer = await outcome(ready.peer, 'process/read', `{"processId":"p","waitMs":${huge}}`);
  expect(answer).toMatchObject({ code: -32602 });
  expect(JSON.stringify(answer).length).toBeLessThan(10_000);
});

test('a request with a quarter of a million params is refused or done, and the next is served', async () => {
  await using ready = await RawSession.open(server.url);
  const many = JSON.stringify(Array(262_000).fill('a'));
  expect(await outcome(ready.peer, 'process/start', `{"processId":"p","argv":${many}}`)).toMatchObject({
    code: -32602,
    message: 'missing field `cwd`',
  });
  expect(await outcome(ready.peer, 'process/read', many)).toMatchObject({ code: -32602 });
  expect(await outcome(ready.peer, 'environment/status', undefined)).toBe('accepted');
});

test('an environment policy made to take for ever is refused quickly', async () => {
  await using ready = await RawSession.open(server.url);
  const exclude = Array(1_000).fill(`${'*a'.repeat(2_000)}b`);
  const set = { ['a'.repeat(100_000)]: '1' };
  const envPolicy = { inherit: 'all', ignoreDefaultExcludes: true, exclude, set, includeOnly: exclude };
  const params = { processId: 'p', argv: ['true'], cwd: 'file:///tmp', env: {}, tty: false, envPolicy };
  expect(await outcome(ready.peer, 'process/start', JSON.stringify(params))).toMatchObject({ code: -32602 });
});
