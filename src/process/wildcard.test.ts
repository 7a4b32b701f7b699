import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ExecError } from '../protocol/errors.ts';
import { WildcardSet } from './wildcard.ts';

const matches = (pattern: string, name: string): boolean => new WildcardSet([pattern]).matches(name);

test.each([
  ['PATH', 'path', true],
  ['PATH', 'PATHX', false],
  ['PATH*', 'path', true],
  ['P*n', 'PLAIN', true],
  ['E?ITOR', 'editor', true],
  ['E?ITOR', 'EITOR', false],
  ['*KEY*', 'monkeys', true],
  ['*', '', true],
  ['?', '', false],
  ['', '', true],
  ['', 'A', false],
  ['?', '\u{1F600}', true],
  ['*?', 'A', true],
  ['A.C', 'ABC', false],
  ['[A]', 'A', false],
])('pattern %j over name %j: %j', (pattern, name, expected) => {
  expect(matches(pattern, name)).toBe(expected);
});

/** Every way to read the pattern, tried one after the other. */
function naive(pattern: string, name: string): boolean {
  if (pattern === '') return name === '';
  const rest = pattern.slice(1);
  if (pattern.startsWith('*')) return naive(rest, name) || (name !== '' && naive(pattern, name.slice(1)));
  return name !== '' && (pattern.startsWith('?') || pattern[0] === name[0]) && naive(rest, name.slice(1));
}

test('agrees with trying every reading of the pattern', () => {
  const letters = (alphabet: string[]) => fc.array(fc.constantFrom(...alphabet), { maxLength: 8 });
  fc.assert(
    fc.property(letters(['a', 'b', '*', '?']), letters(['a', 'b']), (pattern, name) => {
      expect(matches(pattern.join(''), name.join('').toUpperCase())).toBe(naive(pattern.join(''), name.join('')));
    }),
    { numRuns: 2_000 },
  );
});

test('a name matches a set when it matches one of its patterns', () => {
  const set = new WildcardSet(['home', 'pl*']);
  expect(['HOME', 'PLAIN', 'EDITOR'].map((name) => set.matches(name))).toEqual([true, true, false]);
});

test('many stars are matched in linear time', () => {
  const set = new WildcardSet([`${'*a'.repeat(50_000)}b`]);
  expect(set.matches('a'.repeat(100_000))).toBe(false);
  expect(set.matches(`${'a'.repeat(100_000)}b`)).toBe(true);
});

const hostile: [string, string[], string[]][] = [
  ['one pattern that fits almost everywhere', [`*${'a?'.repeat(50_000)}b*`], ['a'.repeat(1_000_000)]],
  ['too many patterns for too many names', Array<string>(100_000).fill('*x'), Array<string>(100_000).fill('aaaa')],
];

test.each(hostile)('%s is refused instead of holding up the server', (_case, patterns, names) => {
  const set = new WildcardSet(patterns);
  const started = performance.now();
  expect(() => names.map((name) => set.matches(name))).toThrow(
    new ExecError('invalidParams', 'environment policy is too large to apply'),
  );
  expect(performance.now() - started).toBeLessThan(2_000);
});
