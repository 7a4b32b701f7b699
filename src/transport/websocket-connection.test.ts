import { once } from 'node:events';
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { BINARY, CLOSE, frame, frameHeader, PING, PONG, RawPeer, TEXT } from '../../test/support/raw-websocket.ts';
import { openTestListener } from '../../test/support/websocket-server.ts';
import { MAX_MESSAGE_BYTES } from '../limits.ts';
import { Disposables } from '../util/disposables.ts';
import type { Message } from '../wire/message.ts';
import type { Connection } from './connection.ts';
import { dialWebSocket } from './websocket-dial.ts';

afterEach(() => vi.restoreAllMocks());

async function openRaw(options: { pingIntervalMs?: number } = {}) {
  const scope = new Disposables();
  const server = scope.use(await openTestListener(options));
  const peer = scope.use(await RawPeer.open(server.url));
  const connection = await server.accepted();
  scope.defer(() => connection.close('drop'));
  return { peer, connection, [Symbol.asyncDispose]: () => scope[Symbol.asyncDispose]() };
}

async function nextMessage(connection: Connection): Promise<Message | undefined> {
  for await (const message of connection.incoming) return message;
  return undefined;
}

async function allMessages(connection: Connection): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of connection.incoming) messages.push(message);
  return messages;
}

const STATUS = '{"id":11,"method":"environment/status"}';
const status: Message = { type: 'request', id: 11, method: 'environment/status', params: null, size: STATUS.length };

describe('framing', () => {
  test('JSON in a binary frame is a message, and the answer is a text frame even when given as bytes', async () => {
    await using raw = await openRaw();
    raw.peer.write(frame(BINARY, STATUS));
    expect(await nextMessage(raw.connection)).toEqual(status);
    raw.connection.send(Buffer.from('{"id":11,"result":{"status":"ready"}}'));
    expect(await raw.peer.next()).toEqual({
      opcode: TEXT,
      payload: Buffer.from('{"id":11,"result":{"status":"ready"}}'),
    });
  });

  test('invalid UTF-8 in a binary frame is a malformed message that names the peer', async () => {
    await using raw = await openRaw();
    raw.peer.write(frame(BINARY, Buffer.from([0xff, 0xfe, 0x7b])));
    const { localPort } = raw.peer.socket;
    expect(raw.connection.label).toBe(`exec-server websocket 127.0.0.1:${localPort}`);
    expect(await nextMessage(raw.connection)).toEqual({
      type: 'malformed',
      detail: `failed to parse websocket JSON-RPC message from exec-server websocket 127.0.0.1:${localPort}: expected value at line 1 column 1`,
    });
    expect(raw.connection.isClosed).toBe(false);
  });

  test('a message in fragments, with a ping between them, is one message', async () => {
    await using raw = await openRaw();
    raw.peer.write(frame(TEXT, STATUS.slice(0, 5), { fin: false }), frame(PING, 'mid'));
    raw.peer.write(frame(0, STATUS.slice(5, 9), { fin: false }), frame(0, STATUS.slice(9)));
    expect(await nextMessage(raw.connection)).toEqual(status);
    expect(await raw.peer.next()).toEqual({ opcode: PONG, payload: Buffer.from('mid') });
  });

  test('a message that trickles in byte by byte is one message', async () => {
    await using raw = await openRaw();
    raw.peer.socket.setNoDelay(true);
    for (const byte of frame(TEXT, STATUS)) {
      raw.peer.write(Buffer.from([byte]));
      await nextTurn();
    }
    expect(await nextMessage(raw.connection)).toEqual(status);
  });

  test.each<[string, Buffer]>([
    ['invalid UTF-8 in a text frame', frame(TEXT, Buffer.from([0x22, 0xff, 0x22]))],
    ['an unmasked frame', frame(TEXT, STATUS, { masked: false })],
    ['a frame over 64 MiB', frameHeader(TEXT, MAX_MESSAGE_BYTES + 1)],
    [
      'fragments of more than 64 MiB',
      Buffer.concat([frame(TEXT, '{', { fin: false }), frameHeader(0, MAX_MESSAGE_BYTES)]),
    ],
    ['a compressed frame', Buffer.from([0xc1, 0x80, 0, 0, 0, 0])],
    ['an unknown opcode', Buffer.from([0x83, 0x80, 0, 0, 0, 0])],
    ['a continuation of nothing', frame(0, STATUS)],
    ['a ping longer than a control frame may be', frame(PING, 'x'.repeat(126))],
  ])('%s cuts the connection without a word, after what came before', async (_name, bad) => {
    await using raw = await openRaw();
    raw.peer.write(frame(TEXT, STATUS), bad);
    expect(await allMessages(raw.connection)).toEqual([status]);
    expect(await raw.connection.closed).toMatchObject({
      type: 'lost',
      text: expect.stringContaining('failed to read'),
    });
    expect(await raw.peer.next()).toBeUndefined();
  });

  test('a message of exactly 64 MiB is accepted', async () => {
    await using raw = await openRaw();
    const shell = '{"method":"n","params":""}';
    const body = Buffer.alloc(MAX_MESSAGE_BYTES, 'x');
    body.write(shell.slice(0, -2), 0);
    body.write(shell.slice(-2), MAX_MESSAGE_BYTES - 2);
    raw.peer.socket.write(frameHeader(TEXT, body.length));
    raw.peer.socket.write(body);
    const message = await nextMessage(raw.connection);
    expect(message).toMatchObject({ type: 'notification', method: 'n' });
    expect(message?.type === 'notification' && String(message.params).length).toBe(MAX_MESSAGE_BYTES - shell.length);
  });

  test('a frame announced with 100 MiB is refused before room is made for it', async () => {
    await using raw = await openRaw();
    const before = process.memoryUsage().arrayBuffers;
    raw.peer.write(frameHeader(BINARY, 100 * 1024 * 1024));
    await raw.connection.closed;
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
  });
});

describe('writing', () => {
  test('the frames of one turn leave in one write, within that turn', async () => {
    await using raw = await openRaw();
    const joined = vi.spyOn(Socket.prototype, '_writev' as never);
    const single = vi.spyOn(Socket.prototype, '_write');
    for (let n = 0; n < 20; n += 1) raw.connection.send('{"method":"sync"}');
    for (let n = 0; n < 20; n += 1) {
      await Promise.resolve();
      raw.connection.send(Buffer.from('{"method":"job"}'));
    }
    await nextTurn();
    expect(single).toHaveBeenCalledTimes(1);
    expect(joined).not.toHaveBeenCalled();
    for (let n = 0; n < 40; n += 1) expect((await raw.peer.next())?.opcode).toBe(TEXT);
  });

  test('a long turn does not hold back more than 256 KiB', async () => {
    await using raw = await openRaw();
    const written = vi.spyOn(Socket.prototype, '_write');
    const frameBytes = JSON.stringify({ method: 'n', params: 'x'.repeat(64 * 1024) });
    for (let n = 0; n < 4; n += 1) raw.connection.send(frameBytes);
    expect(written).toHaveBeenCalledTimes(1);
  });

  test('both ends of a connection are without the delay of Nagle', async () => {
    const setNoDelay = vi.spyOn(Socket.prototype, 'setNoDelay');
    await using server = await openTestListener();
    const client = await dialWebSocket(server.url);
    await server.accepted();
    const sockets = new Map(setNoDelay.mock.contexts.map((socket, call) => [socket, setNoDelay.mock.calls[call]]));
    const ports = [...sockets]
      .filter(([, args]) => args?.[0] === true)
      .map(([socket]) => (socket instanceof Socket ? [socket.localPort, socket.remotePort] : []));
    const serverPort = Number(new URL(server.url).port);
    expect(ports.some(([local]) => local === serverPort)).toBe(true);
    expect(ports.some(([, remote]) => remote === serverPort)).toBe(true);
    await client.close('end');
  });
});

describe('pings', () => {
  test('a ping is answered with its payload', async () => {
    await using raw = await openRaw();
    raw.peer.write(frame(PING, 'hello'));
    expect(await raw.peer.next()).toEqual({ opcode: PONG, payload: Buffer.from('hello') });
  });

  test('of a flood of pings only some and the last are answered', async () => {
    await using raw = await openRaw();
    raw.peer.write(...Array.from({ length: 5_000 }, (_, n) => frame(PING, String(n))));
    let answers = 0;
    for (;;) {
      const pong = await raw.peer.next();
      answers += 1;
      if (pong?.payload.toString() === '4999') break;
    }
    expect(answers).toBeLessThan(1_000);
  });

  test('confirm takes the answer to a later ping, and no answer that was not asked for', async () => {
    await using raw = await openRaw();
    const order: string[] = [];
    const first = raw.connection.confirm().then((answer) => order.push(`first ${answer}`));
    const second = raw.connection.confirm().then((answer) => order.push(`second ${answer}`));
    const pings = [await raw.peer.next(), await raw.peer.next()];
    expect(pings.map((ping) => ping?.opcode)).toEqual([PING, PING]);
    raw.peer.write(frame(PONG, ''), frame(PONG, '999'), frame(TEXT, STATUS));
    await nextMessage(raw.connection);
    expect(order).toEqual([]);
    raw.peer.write(frame(PONG, pings[1]?.payload ?? ''));
    await Promise.all([first, second]);
    expect(order).toEqual(['first true', 'second true']);
  });
});

describe('keep-alive', () => {
  test('a peer that says nothing is cut, and the reason says so', async () => {
    await using raw = await openRaw({ pingIntervalMs: 10 });
    expect(await raw.connection.closed).toEqual({
      type: 'lost',
      text: `failed to read websocket JSON-RPC message from ${raw.connection.label}: no sign of life after 2 pings`,
    });
    expect(await raw.peer.next()).toMatchObject({ opcode: PING });
    expect(await raw.peer.next()).toMatchObject({ opcode: PING });
    expect(await raw.peer.next()).toBeUndefined();
  });

  test('a peer that reads nothing of what it was sent is cut in the end', async () => {
    await using raw = await openRaw({ pingIntervalMs: 5 });
    raw.connection.send(JSON.stringify({ method: 'n', params: 'x'.repeat(3_000) }));
    expect(await raw.connection.closed).toMatchObject({ type: 'lost' });
  });

  test('a peer that answers pings, or only talks, is left alone', async () => {
    await using raw = await openRaw({ pingIntervalMs: 50 });
    for (let n = 0; n < 8; n += 1) {
      const ping = await raw.peer.next();
      expect(ping?.opcode).toBe(PING);
      raw.peer.write(n % 2 === 0 ? frame(PONG, ping?.payload ?? '') : frame(TEXT, STATUS));
    }
    expect(raw.connection.isClosed).toBe(false);
  });

  test('a slow reader of a large message is left alone', async () => {
    await using raw = await openRaw({ pingIntervalMs: 5 });
    const text = JSON.stringify({ method: 'n', params: 'x'.repeat(16 * 1024 * 1024) });
    raw.connection.send(text);
    let received = 0;
    raw.peer.socket.on('data', (chunk) => {
      received += chunk.length;
      raw.peer.socket.pause();
      setTimeout(() => raw.peer.socket.resume(), 1);
      if (received > text.length) raw.peer.socket.emit('done');
    });
    raw.peer.socket.resume();
    await once(raw.peer.socket, 'done');
    expect(raw.connection.isClosed).toBe(false);
  });

  test('a peer whose answers we do not read, because our consumer is behind, is left alone', async () => {
    await using raw = await openRaw({ pingIntervalMs: 50 });
    raw.peer.write(...Array.from({ length: 5_000 }, () => frame(TEXT, STATUS)));
    for (let n = 0; n < 8; n += 1) raw.peer.write(frame(PONG, (await raw.peer.next())?.payload ?? ''));
    expect(raw.connection.isClosed).toBe(false);
  });

  test('a client notices a dead server the same way', async () => {
    await using server = await openTestListener({ pingIntervalMs: 60_000 });
    const client = await dialWebSocket(server.url, { pingIntervalMs: 10 });
    const accepted = await server.accepted();
    // More than the server queues: nobody takes it there, so the server stops reading and answering for good.
    for (let n = 0; n < 300; n += 1) client.send(STATUS);
    expect(await client.closed).toMatchObject({ type: 'lost', text: expect.stringContaining('no sign of life') });
    await accepted.close('drop');
  });
});

describe('the end', () => {
  test('end sends a close frame with the text, cut between characters', async () => {
    await using raw = await openRaw();
    raw.connection.send(STATUS);
    const closing = raw.connection.close('end', `stopping ${'é'.repeat(80)}`);
    expect(await raw.peer.next()).toMatchObject({ opcode: TEXT });
    const close = await raw.peer.next();
    expect(close?.opcode).toBe(CLOSE);
    expect(close?.payload.readUInt16BE(0)).toBe(1001);
    expect(close?.payload.subarray(2).toString()).toBe(`stopping ${'é'.repeat(57)}`);
    raw.peer.write(frame(CLOSE, close?.payload ?? ''));
    expect(await raw.peer.next()).toBeUndefined();
    raw.peer.socket.end();
    await closing;
    expect(await raw.connection.closed).toEqual({ type: 'clean' });
  });

  test('a peer that does not answer the farewell is cut', async () => {
    await using raw = await openRaw();
    await raw.connection.close('end');
    expect(await raw.peer.next()).toMatchObject({ opcode: CLOSE });
    expect(await raw.peer.next()).toBeUndefined();
  });

  test('the answer to a farewell is seen even when it is behind messages that nobody takes', async () => {
    await using raw = await openRaw();
    raw.peer.write(...Array.from({ length: 5_000 }, () => frame(TEXT, STATUS)));
    await raw.connection.incoming[Symbol.asyncIterator]().next();
    const started = performance.now();
    const closing = raw.connection.close('end');
    raw.peer.write(frame(CLOSE, (await raw.peer.next())?.payload ?? ''));
    expect(await raw.peer.next()).toBeUndefined();
    raw.peer.socket.end();
    await closing;
    expect(performance.now() - started).toBeLessThan(900);
  });

  test('drop cuts without a close frame', async () => {
    await using raw = await openRaw();
    await raw.connection.close('drop');
    expect(await raw.peer.next()).toBeUndefined();
    expect(await raw.connection.closed).toEqual({ type: 'clean' });
  });

  test('drop overtakes a farewell that is not answered', async () => {
    await using raw = await openRaw();
    const ending = raw.connection.close('end');
    const started = performance.now();
    await raw.connection.close('drop');
    await ending;
    expect(performance.now() - started).toBeLessThan(900);
  });

  test("the peer's close frame is answered with its code and ends cleanly", async () => {
    await using raw = await openRaw();
    raw.peer.write(frame(TEXT, STATUS), frame(CLOSE, Buffer.from([0x03, 0xe8])));
    expect(await raw.peer.next()).toEqual({ opcode: CLOSE, payload: Buffer.from([0x03, 0xe8]) });
    raw.peer.socket.end();
    expect(await allMessages(raw.connection)).toEqual([status]);
    expect(await raw.connection.closed).toEqual({ type: 'clean' });
  });

  test('a peer that hangs up without a close frame is lost, after what it said', async () => {
    await using raw = await openRaw();
    raw.peer.write(frame(TEXT, STATUS));
    raw.peer.socket.end();
    expect(await allMessages(raw.connection)).toEqual([status]);
    expect(await raw.connection.closed).toEqual({
      type: 'lost',
      text: `failed to read websocket JSON-RPC message from ${raw.connection.label}: connection reset without closing handshake`,
    });
  });

  test('a peer that resets is lost, with the reason of the system', async () => {
    await using raw = await openRaw();
    raw.peer.socket.resetAndDestroy();
    expect(await raw.connection.closed).toEqual({
      type: 'lost',
      text: `failed to read websocket JSON-RPC message from ${raw.connection.label}: Connection reset by peer (os error 104)`,
    });
  });

  test('a peer that ends its half and never reads does not hold the connection', async () => {
    await using raw = await openRaw();
    raw.connection.send(JSON.stringify({ method: 'n', params: 'x'.repeat(32 * 1024 * 1024) }));
    raw.peer.socket.end();
    expect(await raw.connection.closed).toMatchObject({ type: 'lost' });
  });
});
