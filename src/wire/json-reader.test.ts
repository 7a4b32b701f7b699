import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonReader, MalformedError, RawNumber } from './json-reader.ts';

function read(input: string | Uint8Array): unknown {
  const reader = new JsonReader(input);
  const value = reader.readValue();
  reader.readEnd();
  return value;
}

function refusalOf(input: string | Uint8Array): string {
  try {
    read(input);
  } catch (failure) {
    if (failure instanceof MalformedError) return failure.message;
    throw failure;
  }
  return 'accepted';
}

describe('legal texts', () => {
  test('give what JSON.parse gives, however they are laid out', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.constantFrom('', ' ', '\t', '\r\n '), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(isDeepStrictEqual(read(text), JSON.parse(text)), text).toBe(true);
      }),
    );
  });

  test('may spell characters as escapes', () => {
    const text = String.raw`"\u00e9\uD83D\uDE00\"\\\/\b\f\n\r\té😀\u0000"`;
    expect(read(text)).toBe('é😀"\\/\b\f\n\r\té😀\0');
  });

  test('keep `__proto__` as an ordinary member', () => {
    const value = read('{"__proto__": {"a": 1}, "b": 2}');
    expect(Object.keys(Object(value))).toEqual(['__proto__', 'b']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(refusalOf('{"__proto__":1,"__proto__":2}')).toBe(
      'duplicate JSON object key `__proto__` at line 1 column 26',
    );
  });

  test.each([
    ['0', 0],
    ['-0', -0],
    ['-12', -12],
    ['1.5', 1.5],
    ['1e-7', 1e-7],
    ['1e+21', 1e21],
    ['9007199254740992', 9007199254740992],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['18446744073709551615', 18446744073709551615n],
  ])('the number %s is read exactly', (text, number) => {
    expect(read(text)).toBe(number);
  });

  test.each(['1.0', '1e2', '1E2', '100e-2', '-0.0', '1.50', '1e999', '0.10', '1'.repeat(41)])(
    'the number %s keeps its spelling',
    (text) => {
      expect(read(text)).toStrictEqual(new RawNumber(text));
    },
  );
});

describe('refusals name the place', () => {
  test.each([
    ['', 'EOF while parsing a value at line 1 column 0'],
    ['nul', 'EOF while parsing a value at line 1 column 3'],
    ['nuxl', 'expected ident at line 1 column 3'],
    ['?', 'expected value at line 1 column 1'],
    ['1 2', 'trailing characters at line 1 column 3'],
    ['[', 'EOF while parsing a list at line 1 column 1'],
    ['[1', 'EOF while parsing a list at line 1 column 2'],
    ['[1,', 'EOF while parsing a value at line 1 column 3'],
    ['[1,]', 'trailing comma at line 1 column 4'],
    ['[1 2]', 'expected `,` or `]` at line 1 column 4'],
    ['[,]', 'expected value at line 1 column 2'],
    ['{', 'EOF while parsing an object at line 1 column 1'],
    ['{"a"', 'EOF while parsing an object at line 1 column 4'],
    ['{"a":', 'EOF while parsing a value at line 1 column 5'],
    ['{"a":1,', 'EOF while parsing a value at line 1 column 7'],
    ['{"a":1,}', 'trailing comma at line 1 column 8'],
    ['{"a" 1}', 'expected `:` at line 1 column 6'],
    ['{"a":1 "b":2}', 'expected `,` or `}` at line 1 column 8'],
    ['{a:1}', 'key must be a string at line 1 column 2'],
    ['{"a":1,2}', 'key must be a string at line 1 column 8'],
    ['{"a":1,"a" :2}', 'duplicate JSON object key `a` at line 1 column 11'],
    ['{"a":1,\n"a"\n:2}', 'duplicate JSON object key `a` at line 3 column 0'],
    ['"', 'EOF while parsing a string at line 1 column 1'],
    ['"\\', 'EOF while parsing a string at line 1 column 2'],
    ['"\\u12', 'EOF while parsing a string at line 1 column 5'],
    ['"\\x"', 'invalid escape at line 1 column 3'],
    ['"\\u12g4"', 'invalid escape at line 1 column 7'],
    ['"\\ud800\\n"', 'unexpected end of hex escape at line 1 column 9'],
    ['"\\ud800\\u0041"', 'lone leading surrogate in hex escape at line 1 column 13'],
    ['"\\udc00"', 'lone leading surrogate in hex escape at line 1 column 7'],
    ['"\\ud800', 'EOF while parsing a string at line 1 column 7'],
    ['"a\u0001"', 'control character (\\u0000-\\u001F) found while parsing a string at line 1 column 3'],
    ['-', 'EOF while parsing a value at line 1 column 1'],
    ['-a', 'invalid number at line 1 column 2'],
    ['01', 'invalid number at line 1 column 2'],
    ['1.', 'EOF while parsing a value at line 1 column 2'],
    ['1.x', 'invalid number at line 1 column 3'],
    ['1e', 'EOF while parsing a value at line 1 column 2'],
    ['1e+x', 'invalid number at line 1 column 4'],
    ['\n\n  ["é",?]', 'expected value at line 3 column 9'],
  ])('%j', (text, detail) => {
    expect(refusalOf(text)).toBe(detail);
  });

  test('bytes that are not UTF-8 are named after the string they are in', () => {
    expect(refusalOf(Buffer.of(0x22, 0xed, 0xa0, 0x80, 0x22))).toBe('invalid unicode code point at line 1 column 5');
    expect(refusalOf(Buffer.of(0x5b, 0x22, 0xc3, 0x22, 0x5d))).toBe('invalid unicode code point at line 1 column 4');
  });
});

test('a text is accepted just when JSON.parse accepts it and nothing is hidden in it', () => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a"',
    '"b":',
    '1',
    '0',
    '-',
    '.',
    'e',
    '+',
    ' ',
    '\n',
    '\\',
    'null',
  ];
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((list) => list.join('')),
      (text) => {
        const refusal = refusalOf(text);
        if (refusal.startsWith('duplicate JSON object key')) return;
        expect(refusal === 'accepted', text).toBe(isJson(text));
      },
    ),
    { numRuns: 5_000 },
  );
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
