import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from '../limits.ts';
import { decode } from './decode.ts';

const BAD_ID = 'data did not match any variant of untagged enum RequestId';
const UNIT = '"method":"environment/status"';

/** What was sent to the reference and what it answered after its prefix. */
const RECORDED_REFUSALS: [string, string][] = [
  ['not json', 'expected ident at line 1 column 2'],
  ['oops', 'expected value at line 1 column 1'],
  ['', 'EOF while parsing a value at line 1 column 0'],
  ['   ', 'EOF while parsing a value at line 1 column 3'],
  ['{"id":1,"method":"environment/status"', 'EOF while parsing an object at line 1 column 37'],
  ['[]', 'expected a JSON-RPC object'],
  ['[{"id":1,"method":"environment/status"}]', 'expected a JSON-RPC object'],
  ['5', 'expected a JSON-RPC object'],
  ['"x"', 'expected a JSON-RPC object'],
  ['null', 'expected a JSON-RPC object'],
  ['true', 'expected a JSON-RPC object'],
  ['{}', 'missing field `error`'],
  ['{"id":1}', 'missing field `error`'],
  ['{"method":5}', 'invalid type: number, expected a string'],
  ['{"id":1,"method":5}', 'invalid type: number, expected a string'],
  ['{"id":null,"method":"environment/status"}', BAD_ID],
  ['{"id":1.5,"method":"environment/status"}', BAD_ID],
  ['{"id":true,"method":"environment/status"}', BAD_ID],
  ['{"id":[],"method":"environment/status"}', BAD_ID],
  ['{"id":9223372036854775808,"method":"environment/status"}', BAD_ID],
  ['{"id":1e2,"method":"environment/status"}', BAD_ID],
  ['{"id":1.0,"method":"environment/status"}', BAD_ID],
  ['{"id":3,"id":4,"method":"environment/status"}', 'duplicate JSON object key `id` at line 1 column 12'],
  [
    '{"id":3,"method":"environment/status","params":{"a":1,"a":2}}',
    'duplicate JSON object key `a` at line 1 column 57',
  ],
  ['{"id":3,"method":"environment/status","trace":"x"}', 'invalid type: string "x", expected struct W3cTraceContext'],
  ['{"id":3,"method":"environment/status","trace":{"traceparent":5}}', 'invalid type: number, expected a string'],
  ['{"id":7,"error":"x"}', 'invalid type: string "x", expected struct JSONRPCErrorError'],
  ['{"id":"x","result":null,"method":5}', 'invalid type: number, expected a string'],
  ['{"error":{"code":1}}', 'missing field `message`'],
  ['{"result":1}', 'missing field `id`'],
  ['\ufeff{"id":1,"method":"environment/status"}', 'expected value at line 1 column 1'],
  ['{"id":1,"method":"environment/status"} x', 'trailing characters at line 1 column 40'],
  [
    '{"id":1,"method":"environment/status"}\n{"id":2,"method":"environment/status"}',
    'trailing characters at line 2 column 1',
  ],
  ['{"id":"\\ud800","method":"environment/status"}', 'unexpected end of hex escape at line 1 column 14'],
];

/** Requests the reference took, with the id and params it must have understood. */
const RECORDED_REQUESTS: [string, string | number | bigint, unknown][] = [
  ['{"id":"abc","method":"environment/status"}', 'abc', null],
  ['{"id":"","method":"environment/status"}', '', null],
  ['{"id":-7,"method":"environment/status"}', -7, null],
  ['{"id":0,"method":"environment/status"}', 0, null],
  ['{"id":9223372036854775807,"method":"environment/status"}', 9223372036854775807n, null],
  ['{"id":-9223372036854775808,"method":"environment/status"}', -9223372036854775808n, null],
  ['{"jsonrpc":"2.0","id":2,"method":"environment/status"}', 2, null],
  ['{"jsonrpc":"1.0","id":2,"method":"environment/status"}', 2, null],
  ['{"id":3,"method":"environment/status","foo":"bar"}', 3, null],
  ['{"id":3,"method":"environment/status","trace":null}', 3, null],
  [
    '{"id":3,"method":"environment/status","trace":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","tracestate":null}}',
    3,
    null,
  ],
  ['{"id":3,"method":"environment/status","trace":{}}', 3, null],
  ['{"id":3,"method":"environment/status","trace":{"traceparent":"garbage"}}', 3, null],
  ['{"method":"environment/status","result":{},"id":5}', 5, null],
  ['{"id":6,"method":"environment/status","result":1,"error":2}', 6, null],
  ['  {"id":1,"method":"environment/status"}\n', 1, null],
  ['{"id":1,"method":"environment/status","params":[1,2]}', 1, [1, 2]],
  ['{"id":"é\\u0001\\u007f/<","method":"environment/status"}', 'é\u0001\u007f/<', null],
];

describe('what the reference was seen to do', () => {
  test.each(RECORDED_REFUSALS)('%j is refused with its text', (text, detail) => {
    expect(decode(text)).toEqual({ type: 'malformed', detail });
    expect(decode(Buffer.from(text))).toEqual({ type: 'malformed', detail });
  });

  test.each(RECORDED_REQUESTS)('%j is a request', (text, id, params) => {
    expect(decode(text)).toStrictEqual({ type: 'request', id, method: 'environment/status', params });
    expect(decode(Buffer.from(text))).toStrictEqual({ type: 'request', id, method: 'environment/status', params });
  });

  test('bytes that are not UTF-8 are refused where they stand', () => {
    expect(decode(Uint8Array.of(0xff, 0xfe, 0x7b))).toEqual({
      type: 'malformed',
      detail: 'expected value at line 1 column 1',
    });
    const inString = Buffer.concat([Buffer.from('{"id":"'), Buffer.of(0xc3), Buffer.from(`",${UNIT}}`)]);
    expect(decode(inString)).toEqual({ type: 'malformed', detail: 'invalid unicode code point at line 1 column 9' });
  });
});

describe('shapes', () => {
  test.each([
    ['{"method":"initialized"}', { type: 'notification', method: 'initialized', params: null }],
    ['{"method":"m","params":{"a":[]},"result":1}', { type: 'notification', method: 'm', params: { a: [] } }],
    ['{"id":1,"result":null}', { type: 'response', id: 1, result: null }],
    ['{"id":1,"result":0,"error":1}', { type: 'response', id: 1, result: 0 }],
    ['{"error":{"code":-1,"message":"m"},"id":"a"}', { type: 'error', id: 'a', error: { code: -1, message: 'm' } }],
    [
      '{"error":{"code":2,"data":[1],"message":"","x":0},"id":1}',
      { type: 'error', id: 1, error: { code: 2, data: [1], message: '' } },
    ],
  ])('%s', (text, message) => {
    expect(decode(text)).toStrictEqual(message);
  });

  test.each([
    ['{"id":null,"method":5}', BAD_ID],
    ['{"method":false,"id":null}', 'invalid type: boolean `false`, expected a string'],
    ['{"method":null}', 'invalid type: null, expected a string'],
    ['{"method":{}}', 'invalid type: map, expected a string'],
    ['{"method":[]}', 'invalid type: sequence, expected a string'],
    ['{"method":1.0}', 'invalid type: number, expected a string'],
    ['{"method":18446744073709551616}', 'invalid type: number, expected a string'],
    ['{"id":{},"result":1}', BAD_ID],
    ['{"id":[],"error":1}', BAD_ID],
    ['{"error":1,"id":[]}', 'invalid type: number, expected struct JSONRPCErrorError'],
    ['{"error":{"code":1,"message":"m"}}', 'missing field `id`'],
    ['{"error":{"message":"m"},"id":1}', 'missing field `code`'],
    ['{"error":{"code":"1","message":"m"},"id":1}', 'invalid type: string "1", expected i64'],
    ['{"error":{"code":1.5,"message":"m"},"id":1}', 'invalid number'],
    ['{"error":{"code":1.0,"message":"m"},"id":1}', 'invalid number'],
    ['{"error":{"code":1,"message":null},"id":1}', 'invalid type: null, expected a string'],
    [`{"id":1,${UNIT},"trace":[]}`, 'invalid type: sequence, expected struct W3cTraceContext'],
    [`{"id":1,${UNIT},"trace":{"tracestate":{}}}`, 'invalid type: map, expected a string'],
    ['{"id":1} x', 'missing field `error`'],
  ])('%s is refused', (text, detail) => {
    expect(decode(text)).toEqual({ type: 'malformed', detail });
  });

  test('members named like those of Object.prototype are nothing special', () => {
    expect(decode('{"constructor":1,"toString":2,"__proto__":{"method":"m"}}')).toEqual({
      type: 'malformed',
      detail: 'missing field `error`',
    });
  });
});

describe('ids', () => {
  test.each([
    ['-0', 0],
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['1000000000000000100', 1000000000000000100n],
    ['-1000000000000000128', -1000000000000000128n],
  ])('the integer %s is kept exactly', (digits, id) => {
    expect(decode(`{"id":${digits},${UNIT}}`)).toStrictEqual({
      type: 'request',
      id,
      method: 'environment/status',
      params: null,
    });
  });

  test.each(['9223372036854776000', '-9223372036854775809', '-9223372036854776000', '1e+21', '-0.0', '1E2', '1e999'])(
    'the number %s is no id',
    (digits) => {
      expect(decode(`{"id":${digits},${UNIT}}`)).toEqual({ type: 'malformed', detail: BAD_ID });
    },
  );

  test('every 64-bit integer comes back with its own digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (integer) => {
        const message = decode(`{"id":${integer},${UNIT}}`);
        expect(message.type === 'request' && String(message.id)).toBe(String(integer));
      }),
    );
  });
});

describe('limits', () => {
  const numbers = (count: number, separator: string): string =>
    `{"id":77,"method":"m","params":[${Array(count).fill('0').join(separator)}]}`;
  const nested = (depth: number, separator: string): string =>
    `{"id":1,"method":"m",${separator}"params":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

  test.each([
    ['compact', ',', 524312],
    ['spaced', ', ', 786452],
  ])('one value too many in %s text is refused where it stands', (_, separator, column) => {
    expect(decode(numbers(MAX_JSON_VALUES - 4, separator)).type).toBe('request');
    expect(decode(numbers(MAX_JSON_VALUES - 3, separator))).toEqual({
      type: 'malformed',
      detail: `JSON-RPC message exceeds the limit of 262144 JSON values at line 1 column ${column}`,
    });
  });

  test.each([
    ['compact', '', 157],
    ['spaced', ' ', 158],
  ])('one level too many in %s text is refused where it stands', (_, separator, column) => {
    expect(decode(nested(MAX_JSON_DEPTH, separator)).type).toBe('request');
    expect(decode(nested(MAX_JSON_DEPTH + 1, separator))).toEqual({
      type: 'malformed',
      detail: `recursion limit exceeded at line 1 column ${column}`,
    });
  });

  test.each([
    ['arrays', '['.repeat(10_000_000), 128],
    ['arrays in a message', `{"a":${'['.repeat(10_000_000)}`, 132],
    ['arrays that are closed again', `{"a":${'['.repeat(5_000_000)}${']'.repeat(5_000_000)}}`, 132],
    ['objects', '{"a":'.repeat(2_000_000), 636],
  ])('ten megabytes of nested %s are refused at the limit', (_, text, column) => {
    expect(decode(text)).toEqual({ type: 'malformed', detail: `recursion limit exceeded at line 1 column ${column}` });
  });

  test('brackets and commas inside strings do not count', () => {
    const params = '[{,"\\'.repeat(MAX_JSON_VALUES);
    expect(decode(JSON.stringify({ id: 1, method: 'm', params }))).toEqual({
      type: 'request',
      id: 1,
      method: 'm',
      params,
    });
  });
});

describe('long string literals', () => {
  const long = 'QUJD'.repeat(5_000);

  test.each([
    ['a duplicate key', `{"id":1,"method":"m","params":{"a":"${long}","b":1,"b":2}}`],
    ['two equal long keys', `{"id":1,"method":"m","params":{"${long}":1,"${long}":1}}`],
    ['two equal keys with long values', `{"id":1,"method":"m","params":{"a":"${long}","a":"${long}"}}`],
  ])('do not hide %s', (_, text) => {
    expect(decode(text)).toMatchObject({ type: 'malformed', detail: expect.stringContaining('duplicate JSON object') });
  });

  test('do not hide a number that lost digits', () => {
    expect(decode(`{"id":9007199254740993,"method":"m","params":"${long}"}`)).toMatchObject({ id: 9007199254740993n });
    expect(decode(`{"id":1.0,"method":"m","params":"${long}"}`)).toEqual({ type: 'malformed', detail: BAD_ID });
  });

  test('do not hide a control character or a lone surrogate', () => {
    expect(decode(`{"id":1,"method":"m","params":"${long}\u0001"}`).type).toBe('malformed');
    expect(decode(`{"id":1,"method":"m","params":"${long}\\ud800"}`).type).toBe('malformed');
  });

  test('come through whole, quotes and keys included', () => {
    const params = { [long]: `${long}\\"${long}"\\`, '': long, [`${long}2`]: [long] };
    expect(decode(JSON.stringify({ id: 1, method: 'm', params }))).toEqual({
      type: 'request',
      id: 1,
      method: 'm',
      params,
    });
  });
});

describe('any JSON', () => {
  test('comes through unchanged, however it is laid out and carried', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(4), (value, indent) => {
        const params: unknown = JSON.parse(JSON.stringify(value));
        const expected = { type: 'request', id: 1, method: 'm', params };
        const compact = JSON.stringify({ id: 1, method: 'm', params });
        const pretty = JSON.stringify({ id: 1, method: 'm', params }, null, indent);
        for (const input of [compact, pretty, Buffer.from(compact), Buffer.from(pretty)]) {
          expect(isDeepStrictEqual(decode(input), expected), String(input)).toBe(true);
        }
      }),
    );
  });

  test('with a key twice in one object is refused, whatever the depth and spelling', () => {
    const spellings = [
      JSON.stringify,
      (key: string) => `"${Array.from({ length: key.length }, (_, at) => escapeUnit(key.charCodeAt(at))).join('')}"`,
    ];
    const members = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { minKeys: 1, maxKeys: 5 });
    fc.assert(
      fc.property(members, fc.nat(), fc.nat(50), fc.constantFrom(...spellings), (object, pick, depth, spell) => {
        const keys = Object.keys(object);
        const key = keys[pick % keys.length] ?? '';
        const body = JSON.stringify(object).slice(1, -1);
        const params = `${'[{"k":'.repeat(depth)}{${body},${spell(key)}:0}${'}]'.repeat(depth)}`;
        expect(decode(`{"id":1,"method":"m","params":${params}}`)).toMatchObject({
          type: 'malformed',
          detail: expect.stringContaining(`duplicate JSON object key \`${key}\``),
        });
      }),
    );
  });

  const escapeUnit = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;
});

test('no text and no bytes make decode throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array(), fc.json()), (input) => {
      expect(typeof decode(input).type).toBe('string');
    }),
  );
});
