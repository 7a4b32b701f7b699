import { createHash } from 'node:crypto';
import { getEventListeners, once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { expect, test } from 'vitest';
import { openTestListener } from '../../test/support/websocket-server.ts';
import { DialError, dialWebSocket } from './websocket-dial.ts';

/** A TCP server that does with each socket what the test says. */
async function openTcp(onData: (write: (text: string) => void) => void) {
  const sockets = new Set<{ destroy(): void }>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', () => onData((text) => socket.write(text)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const failure = async (dialling: Promise<unknown>): Promise<unknown> => {
  try {
    await dialling;
  } catch (error) {
    return error;
  }
  throw new Error('it was expected to fail');
};

test('what the server says at once is not lost', async () => {
  await using server = await openTestListener({ onConnection: (connection) => connection.send('{"method":"hello"}') });
  const client = await dialWebSocket(server.url);
  expect(await client.incoming[Symbol.asyncIterator]().next()).toMatchObject({ value: { method: 'hello' } });
  expect(client.label).toBe(`exec-server websocket ${server.url}`);
  await client.close('end');
});

test('a token opens the door; without it the refusal is told, and the token never', async () => {
  const tokenSha256 = createHash('sha256').update('sekret').digest();
  await using server = await openTestListener({ auth: { type: 'capability-token', tokenSha256 } });
  const client = await dialWebSocket(server.url, { token: 'sekret' });
  await client.close('end');

  const refused = await failure(dialWebSocket(server.url, { token: 'sekret-but-wrong' }));
  expect(refused).toBeInstanceOf(DialError);
  expect(refused).toMatchObject({
    message: `failed to connect to exec-server websocket \`${server.url}\`: HTTP error: 401 Unauthorized`,
    status: 401,
    body: 'invalid websocket bearer token',
  });
});

test('headers are sent', async () => {
  await using server = await openTestListener();
  const refused = await failure(dialWebSocket(server.url, { headers: { Origin: 'http://x' } }));
  expect(refused).toMatchObject({ status: 403, body: '' });
});

test('nobody there is an error with the text of the system', async () => {
  await using tcp = await openTcp(() => {});
  await tcp[Symbol.asyncDispose]().catch(() => {});
  expect(await failure(dialWebSocket(tcp.url))).toMatchObject({
    message: `failed to connect to exec-server websocket \`${tcp.url}\`: Connection refused (os error 111)`,
  });
});

test('a server that never answers is given up after the time', async () => {
  await using tcp = await openTcp(() => {});
  expect(await failure(dialWebSocket(tcp.url, { connectTimeoutMs: 50 }))).toMatchObject({
    message: `timed out connecting to exec-server websocket \`${tcp.url}\` after 50ms`,
  });
});

test('so is one that never finishes its refusal', async () => {
  await using tcp = await openTcp((write) => write('HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nhalf'));
  expect(await failure(dialWebSocket(tcp.url, { connectTimeoutMs: 100 }))).toMatchObject({
    message: expect.stringMatching(/after 100ms$|403 Forbidden$/),
  });
});

test('an endless refusal is read up to a limit', async () => {
  await using tcp = await openTcp((write) => write(`HTTP/1.1 403 Forbidden\r\n\r\n${'x'.repeat(1024 * 1024)}`));
  const refused = await failure(dialWebSocket(tcp.url));
  expect(refused).toMatchObject({ status: 403, body: 'x'.repeat(4096) });
});

test('an answer that is no WebSocket handshake is an error', async () => {
  await using tcp = await openTcp((write) =>
    write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n',
    ),
  );
  expect(await failure(dialWebSocket(tcp.url))).toMatchObject({
    message: expect.stringContaining('Invalid Sec-WebSocket-Accept header'),
  });
});

test('aborting rejects with the reason and leaves nothing behind', async () => {
  await using tcp = await openTcp(() => {});
  const reason = new Error('changed my mind');
  expect(await failure(dialWebSocket(tcp.url, { signal: AbortSignal.abort(reason) }))).toBe(reason);

  const controller = new AbortController();
  const dialling = failure(dialWebSocket(tcp.url, { signal: controller.signal }));
  setImmediate(() => controller.abort(reason));
  expect(await dialling).toBe(reason);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});

test('a signal does nothing to a connection that is open', async () => {
  await using server = await openTestListener();
  const controller = new AbortController();
  const client = await dialWebSocket(server.url, { signal: controller.signal });
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  controller.abort();
  expect(client.isClosed).toBe(false);
  await client.close('end');
});

test('secrets in a URL are not shown', async () => {
  await using server = await openTestListener();
  const secret = server.url.replace('ws://', 'ws://me:sekret@');
  const client = await dialWebSocket(`${secret}/?token=sekret`);
  expect(client.label).toBe(`exec-server websocket ${server.url}/`);
  await client.close('end');
  for (const url of [`${secret}/gone?token=sekret`, 'ws://me:sekret@?token=sekret', 'gopher://x/?token=sekret']) {
    const error = await failure(dialWebSocket(url));
    expect(error).toBeInstanceOf(DialError);
    expect(String(error)).not.toContain('sekret');
  }
});
