/**
 * Not one byte may be lost when a program prints and exits at once, on an idle machine or a busy one. FARHAND_TAIL_RUNS
 * raises the number of runs.
 */
import { describe, expect, test } from 'vitest';
import { hasNative, isSanitized, startNative } from '../../test/support/native.ts';
import type { NativeSpawnRequest } from './spawn-native.ts';

const RUNS = Number(process.env.FARHAND_TAIL_RUNS ?? (isSanitized ? 20 : 100));
const AT_ONCE = 5;
const LAST = 231_000;
const BUSY = ['sh', '-c', 'while :; do :; done'];
const expected = (lineEnd: string): Buffer =>
  Buffer.from(Array.from({ length: LAST }, (_, index) => `${index + 1}${lineEnd}`).join(''));

describe.skipIf(!hasNative)('the tail of 1.5 MB', () => {
  test.each<[string, Partial<NativeSpawnRequest>, string]>([
    ['a terminal', { terminal: { rows: 24, cols: 80 } }, '\r\n'],
    ['pipes', {}, '\n'],
  ])(
    'arrives from %s, run after run, under load',
    async (_case, rest, lineEnd) => {
      const wanted = expected(lineEnd);
      expect(wanted.byteLength).toBeGreaterThan(1_500_000);
      await using busy = await startNative(BUSY);
      for (let run = 0; run < RUNS; run += AT_ONCE) {
        const children = await Promise.all(
          Array.from({ length: AT_ONCE }, () => startNative(['seq', `${LAST}`], rest)),
        );
        for (const child of children) {
          expect(await child.finished()).toEqual({ code: 0, signal: null });
          expect(child.bytes().equals(wanted)).toBe(true);
        }
      }
      expect(busy.order).toEqual([]);
    },
    60_000 + RUNS * 1_000,
  );
});
