import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { ExecError } from '../protocol/errors.ts';
import { execToServer } from '../protocol/exec/contract.ts';
import { shapeOf } from '../protocol/shape.ts';
import type { Row } from '../protocol/table.ts';
import { extension, looseStruct, nonZero, nullish, u16, u64 } from '../protocol/values.ts';
import { JsonReader, RawNumber } from '../wire/json-reader.ts';
import { decodeParams } from './decode-params.ts';
import { normalise } from './normalise-params.ts';

type Method = keyof typeof execToServer;
type Refusal = { scenario: string; method: Method; params?: unknown; message: string };
type Accepted = { side: string; method: Method; params?: unknown };

function readJson(text: string): unknown {
  return new JsonReader(text).readValue();
}

const readLines = <T>(path: string): T[] =>
  readFileSync(new URL(path, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => readJson(line) as T);

const recorded = readLines<Refusal>('./decode-params.recorded.jsonl');
const accepted = readLines<Accepted>('../protocol/exec/contract.recorded.jsonl').filter(
  (message) => message.side === 'toServer' && 'params' in message,
);

function refusal(row: Row, params: unknown): string {
  try {
    decodeParams(row, params);
  } catch (error) {
    if (error instanceof ExecError && error.kind === 'invalidParams') return error.message;
    throw error;
  }
  return 'accepted';
}

const row = (params: z.ZodMiniType, struct = 'Thing'): Row => ({ params, since: 'stock', struct, summary: '' });
const inRow = (params: z.ZodMiniType, value: unknown): string => refusal(row(params), value);

describe('recorded refusals', () => {
  test('there are many of them', () => {
    expect(recorded.length).toBeGreaterThan(140);
  });

  test.each(recorded)('$scenario: $method is refused with "$message"', ({ method, params, message }) => {
    expect(refusal(execToServer[method], params)).toBe(message);
  });
});

describe('recorded requests', () => {
  test('there are many of them', () => {
    expect(accepted.length).toBeGreaterThan(150);
  });

  test.each(accepted)('$method takes $params', ({ method, params }) => {
    expect(refusal(execToServer[method], params)).toBe('accepted');
  });
});

describe('other spellings', () => {
  test('a positional array is read in declaration order', () => {
    expect(decodeParams(execToServer['process/read'], ['p', 3, null, 10])).toEqual({
      processId: 'p',
      afterSeq: 3,
      maxBytes: null,
      waitMs: 10,
    });
  });

  test('extensions have no place in a positional array', () => {
    expect(decodeParams(execToServer.initialize, ['me', null])).toEqual({ clientName: 'me', resumeSessionId: null });
    expect(refusal(execToServer.initialize, ['me', null, 'token'])).toBe(
      'invalid length 3, expected fewer elements in array',
    );
  });

  test('members with a default may be missing from the end of a positional array, others may not', () => {
    const params = z.object({ a: z.string(), b: nullish(u64), c: z._default(z.boolean(), true) });
    expect(decodeParams(row(params), ['x', null])).toEqual({ a: 'x', b: null, c: true });
    expect(inRow(params, ['x'])).toBe('invalid length 1, expected struct Thing with 3 elements');
  });

  test('a struct of one member is said to have one element', () => {
    expect(refusal(execToServer['fs/close'], [])).toBe(
      'invalid length 0, expected struct FsCloseParams with 1 element',
    );
  });

  test('a wrong element is named before a wrong length', () => {
    expect(refusal(execToServer['process/read'], ['p', 'x', 1, 2, 3, 4])).toBe(
      'invalid type: string "x", expected u64',
    );
  });

  test('positional arrays and one-key objects are read at any depth', () => {
    const decoded = decodeParams(execToServer['process/start'], {
      processId: 'p',
      argv: ['true'],
      cwd: 'file:///tmp',
      env: {},
      tty: false,
      envPolicy: [{ core: null }, true, [], {}, []],
      managedNetwork: [[8080], true],
    });
    expect(decoded).toMatchObject({
      envPolicy: { inherit: 'core', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] },
      managedNetwork: { loopbackPorts: [8080], allowLocalBinding: true },
    });
  });

  test.each([
    [{}, 'invalid value: map, expected map with a single key'],
    [{ interrupt: null, kill: null }, 'invalid value: map, expected map with a single key'],
    [
      { bogus: null },
      'unknown variant `bogus`, expected one of `interrupt`, `hangup`, `quit`, `terminate`, `kill`, `usr1`, `usr2`, `stop`, `continue`, `winch`',
    ],
    [{ interrupt: 5 }, 'invalid type: number, expected unit'],
    [[], 'invalid type: sequence, expected string or map'],
  ])('the signal %j is refused', (signal, message) => {
    expect(refusal(execToServer['process/signal'], { processId: 'p', signal })).toBe(message);
  });

  test.each([undefined, null, {}])('%j is no params', (params) => {
    expect(decodeParams(execToServer['environment/status'], params)).toBeNull();
  });

  test.each([
    [5, 'number'],
    ['x', 'string "x"'],
    [false, 'boolean `false`'],
    [{ x: 1 }, 'map'],
  ])('%j is not no params', (params, found) => {
    expect(refusal(execToServer['environment/status'], params)).toBe(`invalid type: ${found}, expected unit`);
  });

  test.each([undefined, null, {}, [], 5, 'x'])('initialized may carry %j', (params) => {
    expect(refusal(execToServer.initialized, params)).toBe('accepted');
  });
});

describe('numbers', () => {
  const params = z.object({ n: u64 });
  const decoded = (text: string): unknown => decodeParams(row(params), readJson(`{"n":${text}}`));

  test.each([
    ['0', 0],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['9007199254740992', Number.MAX_SAFE_INTEGER],
    ['9007199254740993', Number.MAX_SAFE_INTEGER],
    ['18446744073709551615', Number.MAX_SAFE_INTEGER],
  ])('%s is a u64', (text, n) => {
    expect(decoded(text)).toEqual({ n });
  });

  test.each([
    '-1',
    '1.5',
    '1.0',
    '1e2',
    '18446744073709551616',
    '18446744073709552000',
    '-9223372036854775808',
    '1e400',
  ])('%s is not', (text) => {
    expect(inRow(params, readJson(`{"n":${text}}`))).toBe('invalid number');
  });

  test('a number that no JavaScript value can hold is still a number where something else is due', () => {
    const raw = new RawNumber('1e400');
    expect(inRow(z.object({ n: z.string() }), { n: raw })).toBe('invalid type: number, expected a string');
    expect(inRow(z.object({ n: z.record(z.string(), z.string()) }), { n: raw })).toBe(
      'invalid type: number, expected a map',
    );
    expect(inRow(z.object({ n: looseStruct('Loose', { a: nullish(u64) }) }), { n: raw })).toBe(
      'invalid type: number, expected struct Loose',
    );
    expect(inRow(z.object({ n: z.string() }), raw)).toBe('invalid type: number, expected struct Thing');
  });

  test('a u16 is bounded', () => {
    expect(inRow(z.object({ port: u16 }), { port: 65_535 })).toBe('accepted');
    expect(inRow(z.object({ port: u16 }), { port: 65_536 })).toBe('invalid number');
    expect(inRow(z.object({ port: u16 }), { port: '1' })).toBe('invalid type: string "1", expected u16');
  });

  test('zero is named where zero is the only thing wrong', () => {
    const depth = z.object({ depth: nullish(nonZero) });
    expect(inRow(depth, { depth: 0 })).toBe('invalid value: integer `0`, expected a nonzero usize');
    expect(inRow(depth, { depth: -1 })).toBe('invalid number');
    expect(inRow(depth, { depth: 1 })).toBe('accepted');
  });
});

describe('texts', () => {
  test('the first wrongly typed member in the document wins over earlier missing ones', () => {
    expect(refusal(execToServer['process/write'], { writeId: 1, chunk: '!' })).toBe(
      'invalid type: number, expected a string',
    );
    expect(refusal(execToServer['process/write'], { chunk: '!', writeId: 1 })).toBe('Invalid symbol 33, offset 0.');
    expect(refusal(execToServer['process/write'], {})).toBe('missing field `processId`');
  });

  test('an inner fault is reported when its member is reached', () => {
    const path = 'file:///x';
    expect(refusal(execToServer['fs/readFile'], { sandbox: {}, path: 5 })).toBe('missing field `permissions`');
    expect(refusal(execToServer['fs/readFile'], { path, sandbox: { permissions: { type: 5 } } })).toBe(
      'invalid type: number, expected variant identifier',
    );
    expect(refusal(execToServer['fs/readFile'], { path, sandbox: { permissions: [] } })).toBe(
      'invalid type: sequence, expected internally tagged enum PermissionProfile',
    );
  });

  test('a found string is quoted as the reference does', () => {
    expect(inRow(z.object({ n: u64 }), { n: 'a"b\\u0041\n\t\u0001\b\f\u{1F600}' })).toBe(
      'invalid type: string "a\\"b\\\\u0041\\n\\t\\u{1}\\u{8}\\u{c}\u{1F600}", expected u64',
    );
  });

  test('a huge string is not sent back whole', () => {
    expect(inRow(z.object({ n: u64 }), { n: 'x'.repeat(100_000) }).length).toBeLessThan(2_000);
    expect(inRow(z.object({ n: z.enum(['a']) }), { n: 'x'.repeat(100_000) }).length).toBeLessThan(2_000);
  });

  test('an extension member is checked like any other', () => {
    const params = z.object({ more: extension(z.string()) });
    expect(inRow(params, { more: 5 })).toBe('invalid type: number, expected a string');
    expect(refusal(execToServer.initialize, { clientName: 'x', authToken: 5 })).toBe(
      'invalid type: number, expected a string',
    );
  });
});

describe('the schema and the second look', () => {
  const leaf = fc.oneof(
    fc.constantFrom<unknown>(null, true, false, '', 'file:///x', 'file:///C:/x', 'aGk=', 'core', 'read', 'disabled'),
    fc.constantFrom<unknown>(0, 1, -1, 1.5, 65_536, 2n ** 63n, new RawNumber('1e400'), [], {}, ['x'], { x: 'y' }),
    fc.constantFrom<unknown>({ interrupt: null }, { core: null }, { type: 'disabled' }, { name: 'n', value: 'v' }),
  );
  const sandbox = fc.record(
    {
      permissions: fc.oneof(
        leaf,
        fc.record({ type: fc.constantFrom('managed', 'external', 'disabled', 5), network: leaf, file_system: leaf }),
      ),
      windowsSandboxLevel: fc.oneof(leaf, fc.constant('mxc')),
      cwd: leaf,
      policyContext: leaf,
      workspaceRoots: leaf,
    },
    { requiredKeys: [] },
  );
  const methods = Object.keys(execToServer) as Method[];

  test('what the second look lets through fits the schema', () => {
    for (const method of methods) {
      const shape = shapeOf(execToServer[method].params, execToServer[method].struct);
      if (shape.type !== 'struct') continue;
      const members = Object.fromEntries(
        shape.members.map(({ name }) => [name, name === 'sandbox' ? fc.oneof(leaf, sandbox) : leaf]),
      );
      const params = fc.oneof(fc.record(members, { requiredKeys: [] }), fc.array(leaf, { maxLength: 15 }), leaf);
      fc.assert(
        fc.property(params, (value) => {
          let normalised: unknown;
          try {
            normalised = normalise(shape, value);
          } catch (error) {
            expect(error).toBeInstanceOf(ExecError);
            // And what the schema lets through, the second look would not have refused.
            expect(execToServer[method].params.safeParse(value).success).toBe(false);
            return;
          }
          expect(execToServer[method].params.safeParse(normalised).success).toBe(true);
        }),
        { numRuns: 200 },
      );
    }
  });
});
