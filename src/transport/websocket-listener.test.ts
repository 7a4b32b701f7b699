import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { connect as connectTls } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { CLOSE, frame, RawPeer, TEXT } from '../../test/support/raw-websocket.ts';
import { openTestListener } from '../../test/support/websocket-server.ts';
import type { AuthPolicy } from './auth.ts';
import { dialWebSocket } from './websocket-dial.ts';

type Answer = { status: number; body: string; allow?: string; contentType?: string; upgraded?: true };

/** One request on a connection of its own; an upgrade is accepted and dropped. */
async function ask(url: string, method: string, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const sent = request({ host: new URL(url).hostname, port: new URL(url).port, method, path, headers, agent: false });
  sent.end();
  const answer = await new Promise<Answer>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('upgrade', (_response, socket) => {
      socket.destroy();
      resolve({ status: 101, body: '', upgraded: true });
    });
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const { allow, 'content-type': contentType } = response.headers;
        const body = Buffer.concat(chunks).toString();
        resolve({
          status: response.statusCode ?? 0,
          body,
          ...(allow && { allow }),
          ...(contentType && { contentType }),
        });
      });
    });
  });
  return answer;
}

const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
const { 'Sec-WebSocket-Key': _key, ...NO_KEY } = UPGRADE;
const contentType = 'text/plain; charset=utf-8';
const NOT_UPGRADE = { status: 400, body: "Connection header did not include 'upgrade'", contentType };
const NOT_GET = { status: 405, body: 'Request method must be `GET`', contentType };
const NO_KEY_TEXT = { status: 400, body: '`Sec-WebSocket-Key` header missing', contentType };
const BAD_VERSION = { status: 400, body: "`Sec-WebSocket-Version` header did not include '13'", contentType };
const NOT_WEBSOCKET = { status: 400, body: "`Upgrade` header did not include 'websocket'", contentType };
const empty = (status: number): Answer => ({ status, body: '' });
const ACCEPTED: Answer = { status: 101, body: '', upgraded: true };

describe('the HTTP surface', () => {
  test.each<[string, string, Record<string, string>, Answer]>([
    // Recorded from the reference server.
    ['GET', '/readyz', {}, empty(200)],
    ['HEAD', '/readyz', {}, empty(200)],
    ['POST', '/readyz', {}, { status: 405, body: '', allow: 'GET,HEAD' }],
    ['GET', '/healthz', {}, empty(404)],
    ['GET', '/', {}, NOT_UPGRADE],
    ['POST', '/', {}, NOT_GET],
    ['GET', '/foo', {}, empty(404)],
    ['GET', '/readyz', { Origin: 'http://x' }, empty(403)],
    ['GET', '/foo', { Origin: 'http://x' }, empty(403)],
    ['GET', '/?a=b', UPGRADE, ACCEPTED],
    ['GET', '/foo', UPGRADE, empty(404)],
    ['GET', '/', { ...UPGRADE, 'Sec-WebSocket-Version': '12' }, BAD_VERSION],
    ['GET', '/', NO_KEY, NO_KEY_TEXT],
    ['GET', '/', { ...UPGRADE, Origin: 'null' }, empty(403)],
    // The same rules, where they meet.
    ['GET', '/readyz?x', {}, empty(200)],
    ['GET', '/readyz', UPGRADE, empty(200)],
    ['GET', '/readyz/', {}, empty(404)],
    ['HEAD', '/', {}, { ...NOT_GET, body: '' }],
    ['HEAD', '/', UPGRADE, { ...NOT_GET, body: '' }],
    ['POST', '/', UPGRADE, NOT_GET],
    ['GET', '/', { Origin: '' }, empty(403)],
    ['GET', '/', { Connection: 'Upgrade' }, NOT_WEBSOCKET],
    ['GET', '/', { ...UPGRADE, Upgrade: 'h2c' }, NOT_WEBSOCKET],
    ['GET', '/', { ...UPGRADE, Connection: 'keep-alive, upgrade', Upgrade: 'WebSocket' }, ACCEPTED],
    ['GET', '/', { ...UPGRADE, 'Sec-WebSocket-Version': '8' }, BAD_VERSION],
    ['GET', 'http://elsewhere/', UPGRADE, ACCEPTED],
    ['GET', 'http://elsewhere/readyz', {}, empty(200)],
  ])('%s %s %j', async (method, path, headers, answer) => {
    await using server = await openTestListener();
    expect(await ask(server.url, method, path, headers)).toEqual(answer);
  });

  test('a key that is no key is refused', async () => {
    await using server = await openTestListener();
    const answer = await ask(server.url, 'GET', '/', { ...UPGRADE, 'Sec-WebSocket-Key': 'short' });
    expect(answer).toMatchObject({ status: 400, contentType });
  });

  test('no subprotocol and no extension is negotiated, whatever is offered', async () => {
    await using server = await openTestListener();
    for (const protocol of ['a, b', ',,;']) {
      await using peer = await RawPeer.open(server.url, {
        'Sec-WebSocket-Protocol': protocol,
        'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits',
      });
      expect(peer.head).toMatch(/^HTTP\/1.1 101 /);
      expect(peer.head).not.toMatch(/protocol:|extensions/i);
      const connection = await server.accepted();
      await connection.close('drop');
    }
  });
});

const auth: AuthPolicy = {
  type: 'capability-token',
  tokenSha256: createHash('sha256').update('sekret-token-0123456789').digest(),
};
const denied = (body: string): Answer => ({ status: 401, body, contentType });

describe('authentication', () => {
  test.each<[string, string, Record<string, string>, Answer]>([
    // Recorded from the reference server.
    ['GET', '/', UPGRADE, denied('missing websocket bearer token')],
    ['GET', '/', { ...UPGRADE, Authorization: 'Bearer sekret-token-0123456789' }, ACCEPTED],
    ['GET', '/', { ...UPGRADE, Authorization: 'bearer   sekret-token-0123456789  ' }, ACCEPTED],
    ['GET', '/', { ...UPGRADE, Authorization: 'Bearer wrong' }, denied('invalid websocket bearer token')],
    [
      'GET',
      '/',
      { ...UPGRADE, Authorization: 'Basic sekret-token-0123456789' },
      denied('invalid authorization header'),
    ],
    ['GET', '/', { ...UPGRADE, Authorization: 'sekret-token-0123456789' }, denied('invalid authorization header')],
    ['GET', '/', { ...UPGRADE, Authorization: 'Bearer ' }, denied('invalid authorization header')],
    ['GET', '/', { ...UPGRADE, Authorization: 'Bearer sekret-token-0123456789', Origin: 'http://x' }, empty(403)],
    ['GET', '/', { ...UPGRADE, Origin: 'http://x' }, empty(403)],
    ['GET', '/foo', UPGRADE, empty(404)],
    // Asked only of a well-formed upgrade.
    ['GET', '/readyz', {}, empty(200)],
    ['GET', '/', {}, NOT_UPGRADE],
    ['POST', '/', {}, NOT_GET],
    ['GET', '/', NO_KEY, NO_KEY_TEXT],
  ])('%s %s %j', async (method, path, headers, answer) => {
    await using server = await openTestListener({ auth });
    expect(await ask(server.url, method, path, headers)).toEqual(answer);
    expect(JSON.stringify(server.log)).not.toContain('sekret');
  });
});

describe('limits', () => {
  test('over the connection limit an upgrade is told so, and a freed place is taken again', async () => {
    await using server = await openTestListener({ maxConnections: 1 });
    const first = await dialWebSocket(server.url);
    const accepted = await server.accepted();
    const refusal = { status: 503, body: 'too many connections (limit 1)', contentType };
    expect(await ask(server.url, 'GET', '/', UPGRADE)).toEqual(refusal);
    expect(await ask(server.url, 'GET', '/readyz')).toEqual(empty(200));
    expect(first.isClosed).toBe(false);
    await first.close('end');
    await accepted.closed;
    const second = await dialWebSocket(server.url);
    await second.close('end');
  });

  test('the limit is no news for somebody without a token', async () => {
    await using server = await openTestListener({ maxConnections: 0, auth });
    expect(await ask(server.url, 'GET', '/', UPGRADE)).toEqual(denied('missing websocket bearer token'));
  });

  test.each([
    ['says nothing', ''],
    ['never finishes its request head', 'GET / HTTP/1.1\r\nHost: x\r\n'],
  ])('a client that %s is cut', async (_name, text) => {
    await using server = await openTestListener({ headTimeoutMs: 50 });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write(text);
    socket.resume();
    await once(socket, 'close');
    expect(server.log).toContainEqual(expect.objectContaining({ level: 'warn', message: 'websocket accept failed' }));
  });
});

describe('opening and closing', () => {
  test('a port that is taken is an error with the text of the system', async () => {
    await using server = await openTestListener();
    const port = Number(new URL(server.url).port);
    await expect(openTestListener({ port })).rejects.toThrow(new Error('Address in use (os error 98)'));
  });

  test.skipIf(!Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1')))(
    'an IPv6 address is shown in brackets',
    async () => {
      await using server = await openTestListener({ host: '::1' });
      expect(server.url).toMatch(/^ws:\/\/\[::1\]:[0-9]+$/);
      const client = await dialWebSocket(server.url);
      expect((await server.accepted()).label).toMatch(/^exec-server websocket \[::1\]:[0-9]+$/);
      await client.close('end');
    },
  );

  test('after it stopped accepting, open connections live on and new ones are refused', async () => {
    await using server = await openTestListener();
    const client = await dialWebSocket(server.url);
    const accepted = await server.accepted();
    server.listener.stopAccepting();
    await expect(dialWebSocket(server.url)).rejects.toThrow('Connection refused (os error 111)');
    accepted.send('{"method":"still"}');
    expect(await client.incoming[Symbol.asyncIterator]().next()).toMatchObject({ value: { method: 'still' } });
    await client.close('end');
  });

  test('closing says goodbye with 1001 and leaves no socket, not even one that never spoke', async () => {
    await using server = await openTestListener();
    await using peer = await RawPeer.open(server.url);
    const silent = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(silent, 'connect');
    const gone = once(silent, 'close');
    silent.resume();
    const closing = server.listener.close();
    const goodbye = await peer.next();
    expect(goodbye?.opcode).toBe(CLOSE);
    expect(goodbye?.payload.readUInt16BE(0)).toBe(1001);
    expect(goodbye?.payload.subarray(2).toString()).toBe('server is shutting down');
    await closing;
    await gone;
    await server.listener.close();
  });

  test('a consumer that throws costs its own connection only', async () => {
    let calls = 0;
    await using server = await openTestListener({
      onConnection: () => {
        calls += 1;
        throw new Error('no room');
      },
    });
    await using peer = await RawPeer.open(server.url);
    expect(await peer.next()).toBeUndefined();
    await using other = await RawPeer.open(server.url);
    expect(await other.next()).toBeUndefined();
    expect(calls).toBe(2);
    expect(server.log).toContainEqual(expect.objectContaining({ level: 'warn', error: 'no room' }));
  });
});

describe('what goes wrong before a connection', () => {
  test('garbage instead of HTTP is answered 400 and logged, and the listener goes on', async () => {
    await using server = await openTestListener();
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write('\x16\x03\x01 hello\r\n\r\n');
    const [answer]: Buffer[] = await once(socket, 'data');
    expect(answer?.toString()).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
    await once(socket, 'close');
    expect(server.log).toEqual([expect.objectContaining({ level: 'warn', message: 'websocket accept failed' })]);
    expect(await ask(server.url, 'GET', '/readyz')).toEqual(empty(200));
  });

  test('a request head beyond all measure is answered 431', async () => {
    await using server = await openTestListener();
    expect(await ask(server.url, 'GET', '/', { x: 'x'.repeat(64 * 1024) })).toMatchObject({ status: 431 });
  });

  test('a refused upgrade is logged with its peer and reason', async () => {
    await using server = await openTestListener();
    await ask(server.url, 'GET', '/', { ...UPGRADE, Origin: 'http://x' });
    expect(server.log).toEqual([
      {
        level: 'warn',
        message: 'websocket upgrade refused',
        status: 403,
        peer: expect.stringMatching(/^127\.0\.0\.1:/),
      },
    ]);
  });

  test('a client that resets in the middle of the upgrade does no harm', async () => {
    await using server = await openTestListener();
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    const head = Object.entries(UPGRADE).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${head.join('')}\r\n`);
    await once(socket, 'connect');
    socket.resetAndDestroy();
    expect(await ask(server.url, 'GET', '/readyz')).toEqual(empty(200));
  });
});

describe('over TLS', () => {
  const read = (name: string): Buffer => readFileSync(new URL(`../../test/support/tls/${name}`, import.meta.url));
  const tls = { cert: read('cert.pem'), key: read('key.pem') };

  test('messages go both ways and the URL says wss', async () => {
    await using server = await openTestListener({ tls });
    expect(server.url).toMatch(/^wss:\/\/127\.0\.0\.1:[0-9]+$/);
    const client = await dialWebSocket(server.url, { ca: tls.cert });
    const accepted = await server.accepted();
    client.send('{"method":"up"}');
    accepted.send('{"method":"down"}');
    expect(await accepted.incoming[Symbol.asyncIterator]().next()).toMatchObject({ value: { method: 'up' } });
    expect(await client.incoming[Symbol.asyncIterator]().next()).toMatchObject({ value: { method: 'down' } });
    expect(await accepted.confirm()).toBe(true);
    await client.close('end');
    expect(await accepted.closed).toEqual({ type: 'clean' });
  });

  test('a certificate the client does not trust is refused', async () => {
    await using server = await openTestListener({ tls });
    await expect(dialWebSocket(server.url)).rejects.toThrow(/self.signed certificate/);
  });

  test('a failed handshake is logged and the listener goes on', async () => {
    await using server = await openTestListener({ tls });
    const plain = connect(Number(new URL(server.url).port), '127.0.0.1');
    plain.on('error', () => {});
    plain.end('GET / HTTP/1.1\r\n\r\n');
    plain.resume();
    await once(plain, 'close');
    const client = await dialWebSocket(server.url, { ca: tls.cert });
    await client.close('end');
    expect(server.log).toEqual([expect.objectContaining({ level: 'warn', message: 'websocket accept failed' })]);
  });

  test('closing cuts a client that is still in its handshake', async () => {
    await using server = await openTestListener({ tls });
    const plain = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(plain, 'connect');
    const gone = once(plain, 'close');
    plain.resume();
    await server.listener.close();
    await gone;
  });

  test('the HTTP surface is the same', async () => {
    await using server = await openTestListener({ tls });
    const socket = connectTls({ port: Number(new URL(server.url).port), host: '127.0.0.1', ca: tls.cert });
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1.1 400 .*Connection header did not include 'upgrade'$/s);
  });
});

test('messages that come in the same packet as the upgrade are not lost', async () => {
  await using server = await openTestListener();
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  const head = Object.entries(UPGRADE).map(([name, value]) => `${name}: ${value}\r\n`);
  const upgrade = Buffer.from(`GET / HTTP/1.1\r\nHost: x\r\n${head.join('')}\r\n`);
  socket.write(Buffer.concat([upgrade, frame(TEXT, '{"method":"early"}')]));
  const connection = await server.accepted();
  expect(await connection.incoming[Symbol.asyncIterator]().next()).toMatchObject({ value: { method: 'early' } });
  socket.destroy();
  await connection.closed;
});
