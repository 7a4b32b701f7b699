import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBase64 } from './base64.ts';

const fault = (text: string): string => {
  try {
    decodeBase64(text);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'no fault';
};

describe('decodeBase64', () => {
  test.each([
    ['***', 'Invalid symbol 42, offset 0.'],
    ['aG k=', 'Invalid symbol 32, offset 2.'],
    ['_-8=', 'Invalid symbol 95, offset 0.'],
    ['aGk==', 'Invalid symbol 61, offset 3.'],
    ['aGk', 'Invalid padding'],
    ['aGl=', 'Invalid last symbol 108, offset 2.'],
    ['a', 'Invalid input length: 1'],
    ['!!!notb64', 'Invalid symbol 33, offset 0.'],
    ['YWJj=', 'Invalid symbol 61, offset 4.'],
    ['YQ', 'Invalid padding'],
    ['!!', 'Invalid symbol 33, offset 0.'],
  ])('%j is refused with the recorded text', (text, message) => {
    expect(fault(text)).toBe(message);
  });

  test.each([
    ['aGk=\n', 'Invalid symbol 10, offset 4.'],
    ['aG=k', 'Invalid symbol 61, offset 2.'],
    ['aGkaG', 'Invalid input length: 5'],
    ['====', 'Invalid symbol 61, offset 0.'],
    ['a===', 'Invalid symbol 61, offset 1.'],
    ['aGk=aGk=', 'Invalid symbol 61, offset 3.'],
    ['aG=', 'Invalid padding'],
    ['aH==', 'Invalid last symbol 72, offset 1.'],
    ['ŁŁŁŁ', 'Invalid symbol 197, offset 0.'],
    ['aGkéaGk=', 'Invalid symbol 195, offset 3.'],
  ])('%j is refused and the first fault is named', (text, message) => {
    expect(fault(text)).toBe(message);
  });

  test('any bytes survive the round trip', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decodeBase64(Buffer.from(bytes).toString('base64'))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test('a large text is decoded', () => {
    const bytes = Buffer.alloc(65_536, 'farhand');
    expect(bytes.equals(decodeBase64(bytes.toString('base64')))).toBe(true);
  });

  test('exactly the texts that encoding could have produced are accepted', () => {
    const piece = fc.constantFrom(...'AQgwZz019+/=-_ \n*é\u0141\u{1F600}'.split(''), 'AAAA', 'QQ==', 'QUE=');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        const isCanonical = Buffer.from(text, 'base64').toString('base64') === text;
        const message = fault(text);
        expect(message === 'no fault').toBe(isCanonical);
        if (!isCanonical)
          expect(message).toMatch(
            /^Invalid (symbol \d+, offset \d+\.|last symbol \d+, offset \d+\.|padding|input length: \d+)$/,
          );
      }),
      { numRuns: 2_000 },
    );
  });
});
