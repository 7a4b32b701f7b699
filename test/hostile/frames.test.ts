/** Bad frames: each ends its own connection without a word, and no other connection notices. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BINARY, CLOSE, frame, frameHeader, PING, PONG, RawPeer, TEXT } from '../support/raw-websocket.ts';
import { Bystander } from './support/bystander.ts';
import { RawSession, requestFrame, startParams } from './support/raw-session.ts';
import { MIB, ServerProcess } from './support/server-process.ts';

const CONTINUATION = 0x0;

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start();
});
afterAll(async () => await server[Symbol.asyncDispose]());

const withRsv = (bit: number): Buffer => {
  const bytes = frame(TEXT, '{}');
  bytes[0] = (bytes[0] ?? 0) | bit;
  return bytes;
};
const part = (opcode: number, text: string, fin = false): Buffer => frame(opcode, text, { fin });

const BAD: [what: string, bytes: Buffer][] = [
  ['a frame without a mask', frame(TEXT, '{}', { masked: false })],
  ['the first reserved bit', withRsv(0x40)],
  ['the second reserved bit', withRsv(0x20)],
  ['the third reserved bit', withRsv(0x10)],
  ...[0x3, 0x4, 0x5, 0x6, 0x7, 0xb, 0xc, 0xd, 0xe, 0xf].map((opcode): [string, Buffer] => [
    `opcode ${opcode}`,
    frame(opcode, 'x'),
  ]),
  ['a continuation of nothing', frame(CONTINUATION, '{}')],
  ['a message inside a message', Buffer.concat([part(TEXT, '{'), part(TEXT, '}', true)])],
  ['a ping of more than 125 bytes', frame(PING, Buffer.alloc(126))],
  ['a ping in two pieces', part(PING, 'x')],
  ['a pong of a megabyte', frame(PONG, Buffer.alloc(MIB))],
  ['a close frame of more than 125 bytes', frame(CLOSE, Buffer.alloc(126))],
  ['a close frame with half a code', frame(CLOSE, 'x')],
  ['a close frame with a code nobody may send', frame(CLOSE, Buffer.from([0x03, 0xed]))],
  ['a close frame whose text is not UTF-8', frame(CLOSE, Buffer.from([0x03, 0xe8, 0xff]))],
  ['text that is not UTF-8', frame(TEXT, Buffer.from([0xc3, 0x28]))],
  ['text that ends inside a character', frame(TEXT, Buffer.from([0x22, 0xe2, 0x82]))],
  ['a surrogate in UTF-8', frame(TEXT, Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))],
  ['a length beyond 2^53', Buffer.from([0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])],
  ['a length of 100 MiB', frameHeader(TEXT, 100 * MIB)],
  ['one byte more than a message may have', frameHeader(TEXT, 64 * MIB + 1)],
];

test.each(BAD)('%s ends the connection', async (_what, bytes) => {
  await using bystander = new Bystander(await server.connect());
  await using session = await RawSession.open(server.url);
  session.peer.write(bytes);
  expect(await session.next()).toBeUndefined();
  await bystander.noticedNothing();
});

test('100 MiB that were announced and are sent in spite of it take no memory', async () => {
  await using bystander = new Bystander(await server.connect());
  await using session = await RawSession.open(server.url);
  const { socket } = session.peer;
  const growth = await server.peakGrowth(async () => {
    socket.write(frameHeader(BINARY, 100 * MIB));
    for (let sent = 0; sent < 100; sent += 1) socket.write(Buffer.alloc(MIB, ' '));
    await session.closedByServer();
  });
  expect(growth).toBeLessThan(16 * MIB);
  await bystander.noticedNothing();
});

test('64 MiB in one message are taken, and one byte more in pieces is not', async () => {
  await using bystander = new Bystander(await server.connect());
  await using session = await RawSession.open(server.url);
  const request = Buffer.from('{"id":77,"method":"environment/status"}');
  const blanks = Buffer.alloc(64 * MIB - request.length, ' ');
  session.peer.write(frameHeader(TEXT, 64 * MIB), request, blanks);
  expect(await session.next()).toEqual({ id: 77, result: { status: 'ready' } });
  session.peer.write(frame(TEXT, request, { fin: false }), frameHeader(CONTINUATION, blanks.length + 1), blanks, ' ');
  expect(await session.next()).toBeUndefined();
  await bystander.noticedNothing();
});

test('a message in pieces with pings between them is one message', async () => {
  await using peer = await RawPeer.open(server.url);
  const message = '{"id":77,"method":"m"}';
  for (const [index, letter] of [...message].entries()) {
    const piece = part(index === 0 ? TEXT : CONTINUATION, letter, index === message.length - 1);
    peer.write(frame(PING, String(index)), piece);
  }
  const received: string[] = [];
  for (let last = 0; last !== TEXT; ) {
    const { opcode = 0, payload = '' } = (await peer.next()) ?? {};
    received.push(`${opcode} ${payload}`);
    last = opcode;
  }
  expect(received.at(-1)).toMatch(/^1 .*"id":77\}$/);
  expect(received).toContain(`${PONG} ${message.length - 1}`);
});

test('a message in a million pieces does not become a million objects', async () => {
  await using session = await RawSession.open(server.url);
  const { socket } = session.peer;
  const growth = await server.peakGrowth(async () => {
    socket.write(part(TEXT, ' '));
    const pieces = Buffer.concat(Array(10_000).fill(part(CONTINUATION, ' ')));
    for (let sent = 0; sent < 100; sent += 1) socket.write(pieces);
    await session.closedByServer();
  });
  expect(growth).toBeLessThan(32 * MIB);
});

describe('what was begun and never finished', () => {
  const HALVES: [what: string, bytes: Buffer][] = [
    ['one byte of a header', Buffer.from([0x81])],
    ['a header without its mask', Buffer.from([0x81, 0x85])],
    ['a header and half the payload', frame(TEXT, '{"id":1,"method":"m"}').subarray(0, 12)],
    ['one piece of a message', part(TEXT, '{"id":1,')],
    ['half a ping', frame(PING, 'payload').subarray(0, 8)],
    ['half a close frame', frame(CLOSE, Buffer.from([0x03, 0xe8])).subarray(0, 7)],
  ];

  test.each(HALVES)('%s: the socket may end or be reset, and nothing is left of it', async (_what, bytes) => {
    for (const how of ['end', 'reset'] as const) {
      await using session = await RawSession.open(server.url);
      const { socket } = session.peer;
      await new Promise((sent) => socket.write(bytes, sent));
      if (how === 'end') socket.end();
      await (how === 'end' ? session.closedByServer() : session.reset());
    }
    await server.settled();
  });

  test('100 sockets that are reset in the middle of a message give back what they held', async () => {
    await using bystander = new Bystander(await server.connect());
    const begun = Buffer.concat([
      part(TEXT, ' '.repeat(MIB / 2)),
      frame(PING, 'read'),
      part(CONTINUATION, 'cut').subarray(0, 7),
    ]);
    const sessions = await Promise.all(Array.from({ length: 100 }, () => RawSession.open(server.url)));
    const growth = await server.peakGrowth(async () => {
      for (const { peer } of sessions) peer.write(begun);
      for (const { peer } of sessions) expect((await peer.next())?.payload.toString()).toBe('read');
      for (const session of sessions) await session.reset();
    });
    // Half a megabyte each, and as much again for the pieces in which it came.
    expect(growth).toBeLessThan(100 * MIB);
    await bystander.noticedNothing();
    await bystander[Symbol.asyncDispose]();
    await server.settled();
  });

  test('a socket that is reset while its processes print is cleaned up behind', async () => {
    for (let round = 0; round < 10; round += 1) {
      const session = await RawSession.open(server.url);
      session.peer.write(requestFrame(1, 'process/start', startParams('p', ['yes'])), Buffer.from([0x81, 0xfe, 0x10]));
      await session.until(({ method }) => method === 'process/output');
      await session.reset();
    }
    await server.settled();
  });
});
