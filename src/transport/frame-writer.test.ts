import type { Socket } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameWriter } from './frame-writer.ts';

function writerWith(isOpen = () => true) {
  const writes: Buffer[] = [];
  const socket = {
    write: (bytes: Buffer, done?: () => void) => {
      writes.push(Buffer.from(bytes));
      done?.();
      return true;
    },
    cork: () => {},
    uncork: () => {},
  } as unknown as Socket; // The part of a socket that is used.
  let written = 0;
  const writer = new FrameWriter(socket, isOpen, () => {
    written += 1;
  });
  return { writer, writes, written: () => written };
}

/** The payloads of unmasked final text frames, read by the rules of RFC 6455. */
function payloads(bytes: Buffer): string[] {
  const found: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    expect(bytes[at], 'one whole text frame').toBe(0x81);
    const short = bytes[at + 1] ?? 0;
    const [length, start] =
      short < 126
        ? [short, at + 2]
        : short === 126
          ? [bytes.readUInt16BE(at + 2), at + 4]
          : [Number(bytes.readBigUInt64BE(at + 2)), at + 10];
    found.push(bytes.toString('utf8', start, start + length));
    at = start + length;
  }
  return found;
}

const SIZES = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000, 300_000];
const frames = fc.array(
  fc.record({
    text: fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(...SIZES).map((size) => 'x'.repeat(size)),
    ),
    isText: fc.boolean(),
    isFlushed: fc.boolean(),
  }),
  { maxLength: 12 },
);

test('whatever is sent comes out as whole frames, in order', () => {
  fc.assert(
    fc.property(frames, (list) => {
      const { writer, writes } = writerWith();
      for (const { text, isText, isFlushed } of list) {
        expect(writer.add(isText ? text : Buffer.from(text))).toBe(Buffer.byteLength(text));
        if (isFlushed) writer.flush();
      }
      writer.flush();
      expect(writer.pendingBytes).toBe(0);
      expect(payloads(Buffer.concat(writes))).toEqual(list.map(({ text }) => text));
    }),
  );
});

test('the frames of one turn are one write, by itself, at the end of the turn', async () => {
  const { writer, writes, written } = writerWith();
  for (let index = 0; index < 10; index += 1) writer.add(`{"n":${index}}`);
  expect(writes).toHaveLength(0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(writes).toHaveLength(1);
  expect(written()).toBe(1);
});

test('a large payload is written as it is, after what came before it', () => {
  const { writer, writes } = writerWith();
  writer.add('before');
  writer.add(Buffer.alloc(200_000, 'x'));
  writer.add('after');
  writer.flush();
  expect(writes.map(({ length }) => length)).toEqual([8, 10, 200_000, 7]);
});

test('nothing is written once the connection closes', () => {
  let isOpen = true;
  const { writer, writes } = writerWith(() => isOpen);
  writer.add('too late');
  isOpen = false;
  writer.flush();
  expect(writes).toEqual([]);
  expect(writer.pendingBytes).toBe(0);
});
