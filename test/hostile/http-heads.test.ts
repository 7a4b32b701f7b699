/** Sockets that never become a WebSocket: idle, slow, too long, too many. They are cut in time and keep nobody out. */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listenOnWebSocket, type RunningServer } from '../../src/server/index.ts';
import { dialWebSocket } from '../../src/transport/index.ts';
import { TestClient } from '../support/client.ts';
import { RawPeer } from '../support/raw-websocket.ts';
import { TEST_SPAWNER } from '../support/spawner.ts';
import { Bystander } from './support/bystander.ts';
import { closed } from './support/raw-session.ts';
import { MIB, ServerProcess } from './support/server-process.ts';
import { untilStill } from './support/until.ts';

/** Opens a plain socket and keeps what comes back. */
class Caller implements AsyncDisposable {
  readonly socket: Socket;
  received = '';

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect(Number(port), hostname);
    this.socket.on('error', () => {});
    this.socket.on('data', (bytes) => {
      this.received += bytes;
    });
  }

  /** What the server said by the time it hung up. */
  async answer(): Promise<string> {
    await closed(this.socket);
    return this.received;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    await closed(this.socket);
  }
}

const UPGRADE =
  'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

describe('a server with little patience', () => {
  let server: RunningServer;
  let url = '';
  beforeAll(async () => {
    server = await listenOnWebSocket({
      host: '127.0.0.1',
      port: 0,
      headTimeoutMs: 200,
      spawner: TEST_SPAWNER,
      version: '0.0.0-test',
      environment: {},
      maxConnections: 20,
    });
    url = server.url ?? '';
  });
  afterAll(async () => await server.stop());

  const UNFINISHED: [what: string, text: string][] = [
    ['nothing', ''],
    ['one letter', 'G'],
    ['a request line', 'GET / HTTP/1.1\r\n'],
    ['an upgrade without its last line', UPGRADE + KEY],
    ['a body that never comes', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n'],
    ['chunks that never come', 'POST /readyz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab'],
  ];

  test.each(UNFINISHED)('a socket that sends %s is cut', async (_what, text) => {
    await using caller = new Caller(url);
    caller.socket.write(text);
    expect(await caller.answer()).toMatch(/^(HTTP\/1\.1 4\d\d |$)/);
  });

  test('a head that comes one byte at a time is cut all the same', async () => {
    await using caller = new Caller(url);
    const letters = (UPGRADE + KEY.repeat(100))[Symbol.iterator]();
    const dripping = setInterval(() => caller.socket.write(letters.next().value ?? 'x'), 10);
    await caller.answer();
    clearInterval(dripping);
    expect(caller.received).toMatch(/^(HTTP\/1\.1 408 |$)/);
  });

  test('hundreds of idle sockets keep an honest client out only until they are cut', async () => {
    const idle = Array.from({ length: 300 }, () => new Caller(url));
    await Promise.all(idle.slice(0, 50).map(({ socket }) => new Promise((done) => socket.once('connect', done))));
    await expect
      .poll(
        async () => {
          const connection = await dialWebSocket(url).catch(() => undefined);
          if (!connection) return 'kept out';
          await using client = await new TestClient(connection).initialize();
          return await client.request('environment/status');
        },
        { timeout: 5_000 },
      )
      .toEqual({ status: 'ready' });
    await Promise.all(idle.map((caller) => caller.answer()));
  });
});

describe('a server as it comes', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.start(['--max-connections', '30']);
  });
  afterAll(async () => await server[Symbol.asyncDispose]());

  const NONSENSE: [what: string, head: string | Buffer, status: RegExp][] = [
    ['no HTTP at all', Buffer.alloc(100_000, 0xff), /^HTTP\/1\.1 400 /],
    ['a TLS greeting', Buffer.from('16030102000100fc0303', 'hex'), /^HTTP\/1\.1 400 /],
    ['a header of 100 KB', `${UPGRADE}X: ${'x'.repeat(100_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
    ['a target of 100 KB', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\n\r\n`, /^HTTP\/1\.1 431 /],
    ['a NUL in a header', `${UPGRADE}${KEY}X: a\0b\r\n\r\n`, /^HTTP\/1\.1 400 /],
    ['two lengths', 'POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['an origin', `${UPGRADE}${KEY}Origin: null\r\n\r\n`, /^HTTP\/1\.1 403 /],
    ['no key', `${UPGRADE}\r\n`, /^HTTP\/1\.1 400 /],
    ['a key that is none', `${UPGRADE}Sec-WebSocket-Key: x\r\n\r\n`, /^HTTP\/1\.1 400 /],
    ['another path', `${UPGRADE.replace('/', '/__proto__')}${KEY}\r\n`, /^HTTP\/1\.1 404 /],
    ['another method', `${UPGRADE.replace('GET', 'TRACE')}${KEY}\r\n`, /^HTTP\/1\.1 405 /],
  ];

  test.each(NONSENSE)('%s is refused and the socket closed', async (_what, head, status) => {
    await using caller = new Caller(server.url);
    caller.socket.write(head);
    expect(await caller.answer()).toMatch(status);
  });

  test('frames sent together with the upgrade, before it was answered, are read after it', async () => {
    await using caller = new Caller(server.url);
    caller.socket.write(Buffer.concat([Buffer.from(`${UPGRADE}${KEY}\r\n`), Buffer.from([0x89, 0x80, 0, 0, 0, 0])]));
    await expect.poll(() => caller.received).toMatch(/^HTTP\/1\.1 101 .*\r\n\r\n/s);
    await expect.poll(() => Buffer.from(caller.received, 'latin1').toString('latin1')).toMatch(/.\0$/s);
  });

  test('readiness asked 100,000 times without reading an answer is not answered 100,000 times', async () => {
    await using bystander = new Bystander(await server.connect());
    await using caller = new Caller(server.url);
    caller.socket.pause();
    const growth = await server.peakGrowth(async () => {
      const thousand = Buffer.from('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000));
      for (let sent = 0; sent < 100; sent += 1) caller.socket.write(thousand);
      await untilStill(() => caller.socket.bytesWritten - caller.socket.writableLength, 'the server to stop reading');
    });
    expect(growth).toBeLessThan(64 * MIB);
    await bystander.noticedNothing();
  });

  test('connections beyond the limit are told so, and there is room again when one goes', async () => {
    const peers = await Promise.all(Array.from({ length: 30 }, () => RawPeer.open(server.url)));
    for (let attempt = 0; attempt < 100; attempt += 1) {
      await using caller = new Caller(server.url);
      caller.socket.write(`${UPGRADE}${KEY}\r\n`);
      expect(await caller.answer()).toMatch(/^HTTP\/1\.1 503 .*too many connections \(limit 30\)$/s);
    }
    await peers.pop()?.[Symbol.asyncDispose]();
    await expect
      .poll(async () => (await dialWebSocket(server.url)).close('drop').then(() => 'in'), { timeout: 5_000 })
      .toBe('in');
    for (const peer of peers) await peer[Symbol.asyncDispose]();
    await server.settled();
  });
});
