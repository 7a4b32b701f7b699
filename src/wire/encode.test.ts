import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decode } from './decode.ts';
import { encodeError, encodeNotification, encodeRequest, encodeResponse, OutputEncoder } from './encode.ts';

describe('member order', () => {
  test.each([
    [encodeRequest(1, 'a/b', { z: 1, a: [] }), '{"id":1,"method":"a/b","params":{"z":1,"a":[]}}'],
    [encodeRequest('x"', 'm', null), '{"id":"x\\"","method":"m","params":null}'],
    [encodeRequest(1, 'm'), '{"id":1,"method":"m"}'],
    [encodeNotification('m', {}), '{"method":"m","params":{}}'],
    [encodeNotification('m'), '{"method":"m"}'],
    [encodeResponse(9223372036854775807n, { ok: true }), '{"id":9223372036854775807,"result":{"ok":true}}'],
    [encodeResponse(-9223372036854775808n, null), '{"id":-9223372036854775808,"result":null}'],
    [encodeResponse('', undefined), '{"id":"","result":null}'],
    [encodeError(-1, { message: 'm', code: -32600 }), '{"error":{"code":-32600,"message":"m"},"id":-1}'],
    [encodeError(2, { message: 'm', data: [1], code: 1 }), '{"error":{"code":1,"data":[1],"message":"m"},"id":2}'],
  ])('%s', (encoded, text) => {
    expect(encoded).toBe(text);
  });

  test('only quotes, backslashes and control characters are escaped', () => {
    expect(encodeNotification('"\\\b\t\n\f\r\u0001\u007f/<é\u2028😀')).toBe(
      '{"method":"\\"\\\\\\b\\t\\n\\f\\r\\u0001\u007f/<é\u2028😀"}',
    );
  });
});

test('what is encoded decodes to the same message', () => {
  const ids = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.maxSafeInteger(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
  );
  fc.assert(
    fc.property(ids, fc.string(), fc.jsonValue({ stringUnit: 'binary' }), (id, method, value) => {
      const data: unknown = JSON.parse(JSON.stringify(value));
      const error = { code: -1, message: method, data };
      expect(decode(encodeRequest(id, method, data))).toEqual({ type: 'request', id, method, params: data });
      expect(decode(encodeNotification(method, data))).toEqual({ type: 'notification', method, params: data });
      expect(decode(encodeResponse(id, data))).toEqual({ type: 'response', id, result: data });
      expect(decode(encodeError(id, error))).toEqual({ type: 'error', id, error });
    }),
  );
});

describe('process/output', () => {
  test('is byte for byte what JSON.stringify gives', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.maxSafeInteger().map(Math.abs),
        fc.constantFrom('stdout' as const, 'stderr' as const, 'pty' as const),
        fc.uint8Array({ maxLength: 300 }),
        (processId, seq, stream, chunk) => {
          const params = { processId, seq, stream, chunk: Buffer.from(chunk).toString('base64') };
          const frame = new OutputEncoder(processId).encode(seq, stream, chunk);
          expect(Buffer.from(frame).toString()).toBe(JSON.stringify({ method: 'process/output', params }));
        },
      ),
    );
  });

  test('may be given a window of a larger buffer, and one encoder serves many chunks', () => {
    const encoder = new OutputEncoder('p');
    const bytes = Buffer.from('..hello..');
    const first = encoder.encode(1, 'stdout', bytes.subarray(2, 7));
    const second = encoder.encode(2, 'stderr', bytes.subarray(0, 0));
    expect(Buffer.from(first).toString()).toBe(
      '{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stdout","chunk":"aGVsbG8="}}',
    );
    expect(Buffer.from(second).toString()).toBe(
      '{"method":"process/output","params":{"processId":"p","seq":2,"stream":"stderr","chunk":""}}',
    );
  });
});
