import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_MESSAGE_BYTES } from '../limits.ts';
import { LineSplitter } from './line-splitter.ts';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

function cut(stream: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (let index = 0; at < stream.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    chunks.push(stream.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

describe('lines', () => {
  test('are the same in whatever chunks they arrive', () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'é', '\r', ' ', '"') });
    const lines = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')));
    const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(lines, line, sizes, (ended, rest, chunkSizes) => {
        const stream = Buffer.from(ended.map(([body, terminator]) => body + terminator).join('') + rest);
        const splitter = new LineSplitter();
        const seen = cut(stream, chunkSizes).flatMap((chunk) => splitter.push(chunk));
        const last = splitter.flush();
        const pieces = stream.toString('latin1').split('\n');
        const tail = pieces.pop() ?? '';
        const withoutReturn = (piece: string): string => piece.replace(/\r$/, '');
        expect(seen.map(text)).toEqual(pieces.map(withoutReturn));
        expect(last === undefined ? '' : text(last)).toBe(withoutReturn(tail));
        expect(splitter.overflowed).toBe(false);
      }),
    );
  });

  test('handed out earlier are not overwritten by later ones', () => {
    const splitter = new LineSplitter();
    splitter.push(Buffer.from('fir'));
    const [first] = splitter.push(Buffer.from('st\nsec'));
    const [second] = splitter.push(Buffer.from('ond\nthird'));
    expect([first, second, splitter.flush()].map((line) => line && text(line))).toEqual(['first', 'second', 'third']);
  });

  test('of a stream that ended with a terminator leave nothing to flush', () => {
    const splitter = new LineSplitter();
    expect(splitter.push(Buffer.from('a\n\n')).map(text)).toEqual(['a', '']);
    expect(splitter.flush()).toBeUndefined();
  });
});

describe('the limit', () => {
  test.each(['\n', '\r\n'])('takes a line of exactly that size before %j', (terminator) => {
    for (const size of [1, 3, 100]) {
      const splitter = new LineSplitter(8);
      const lines = cut(Buffer.from(`12345678${terminator}x`), [size]).flatMap((chunk) => splitter.push(chunk));
      expect(lines.map(text)).toEqual(['12345678']);
      expect(splitter.overflowed).toBe(false);
    }
  });

  test('is passed by one byte more, without waiting for the terminator', () => {
    for (const size of [1, 3, 100]) {
      const splitter = new LineSplitter(8);
      const lines = cut(Buffer.from('ok\n123456789'), [size]).flatMap((chunk) => splitter.push(chunk));
      expect(lines.map(text)).toEqual(['ok']);
      expect(splitter.overflowed).toBe(true);
    }
  });

  test('is passed by a carriage return that turns out to be no terminator', () => {
    const splitter = new LineSplitter(8);
    splitter.push(Buffer.from('12345678\r'));
    expect(splitter.overflowed).toBe(false);
    expect(splitter.push(Buffer.from('x\n'))).toEqual([]);
    expect(splitter.overflowed).toBe(true);
  });

  test('ends the stream: nothing comes out after it', () => {
    const splitter = new LineSplitter(2);
    expect(splitter.push(Buffer.from('a\nbbb\nc\n')).map(text)).toEqual(['a']);
    expect(splitter.push(Buffer.from('d\n'))).toEqual([]);
    expect(splitter.flush()).toBeUndefined();
    expect(splitter.overflowed).toBe(true);
  });

  test('is that of a message', () => {
    const splitter = new LineSplitter();
    const half = Buffer.alloc(MAX_MESSAGE_BYTES / 2, 'a');
    splitter.push(half);
    splitter.push(half);
    const [line] = splitter.push(Buffer.from('\n'));
    expect(line?.length).toBe(MAX_MESSAGE_BYTES);
    splitter.push(half);
    splitter.push(half);
    expect(splitter.overflowed).toBe(false);
    splitter.push(Buffer.from('a'));
    expect(splitter.overflowed).toBe(true);
  });

  test('is reached in a million small chunks without copying the line over and over', () => {
    const splitter = new LineSplitter();
    const chunk = Buffer.from('sixteen bytes...');
    for (let count = 0; count < 1_000_000; count += 1) splitter.push(chunk);
    const [line] = splitter.push(Buffer.from('\n'));
    expect(line?.length).toBe(16_000_000);
  });
});
