/** What seed 000's listener does with those it cannot accept, and with addresses it cannot listen on. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startServer } from '../support/server.ts';

const CLI = join(import.meta.dirname, '../../dist/cli.cjs');

describe('seed 000 behaviours', () => {
  // March: "failed to accept exec-server websocket connection from <peer>: <error>". Today: the same in fields.
  test.each([
    ['what is no HTTP', '\x16\x03\x01 hello\r\n\r\n', 'websocket accept failed'],
    ['an upgrade of another version', upgrade('Sec-WebSocket-Version: 12'), 'websocket upgrade refused'],
    ['an upgrade without a key', upgrade('Sec-WebSocket-Version: 13'), 'websocket upgrade refused'],
  ])('a failed WebSocket accept is logged and the listener goes on: %s', async (_name, text, message) => {
    await using server = await startServer('websocket');
    const before = await server.connect();
    const socket = await dialRaw(server.url);
    const peer = `127.0.0.1:${socket.localPort}`;
    socket.write(text);
    socket.resume();
    await once(socket, 'close');
    expect(server.log).toContainEqual(
      expect.stringMatching(new RegExp(`^warn ${message} .*"peer":"${peer.replaceAll('.', '\\.')}"`)),
    );
    expect((await before.run('p', 'echo still here')).stdout).toBe('still here\n');
    const after = await server.connect();
    expect((await after.run('p', 'echo welcome')).stdout).toBe('welcome\n');
  });

  test('a client that is cut in the middle of its WebSocket handshake is logged and the listener goes on', async () => {
    await using server = await startServer('websocket');
    const socket = await dialRaw(server.url);
    const peer = `127.0.0.1:${socket.localPort}`;
    socket.write('GET / HTTP/1.1\r\nUpgrade: web');
    // Answered after the listener has turned to the connection before it.
    await fetch(`${server.url.replace('ws', 'http')}/readyz`, { headers: { connection: 'close' } });
    socket.resetAndDestroy();
    await expect.poll(() => server.log).not.toEqual([]);
    expect(server.log).toEqual([
      `warn websocket accept failed {"peer":"${peer}","error":"Connection reset by peer (os error 104)"}`,
    ]);
    const after = await server.connect();
    expect((await after.run('p', 'echo welcome')).stdout).toBe('welcome\n');
  });

  // March: the second text ended after `ws://IP:PORT`, because there was no stdio.
  test.each([
    ['ws://localhost:1234', 'invalid websocket --listen URL `ws://localhost:1234`; expected `ws://IP:PORT`'],
    ['ws://example.com:80', 'invalid websocket --listen URL `ws://example.com:80`; expected `ws://IP:PORT`'],
    ['http://127.0.0.1:1234', 'unsupported --listen URL `http://127.0.0.1:1234`; expected `ws://IP:PORT` or `stdio`'],
    ['wss://127.0.0.1:1234', 'unsupported --listen URL `wss://127.0.0.1:1234`; expected `ws://IP:PORT` or `stdio`'],
  ])('--listen refuses host names and other schemes: %s', (url, text) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, 'exec-server', '--listen', url], {
      encoding: 'utf8',
      input: '',
    });
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: `Error: ${text}\n` });
  });
});

function upgrade(header: string): string {
  return `GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${header}\r\n\r\n`;
}

async function dialRaw(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  return socket;
}
