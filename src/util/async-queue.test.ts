import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AsyncQueue } from './async-queue.ts';

test('values come out in order, whenever they were pushed, and the end comes last', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(3), { maxLength: 700 }), async (pauses) => {
      const queue = new AsyncQueue<number>();
      const taken: number[] = [];
      const reading = (async () => {
        for await (const value of queue) taken.push(value);
      })();
      for (const [value, pause] of pauses.entries()) {
        queue.push(value);
        if (pause === 0) await Promise.resolve();
      }
      queue.end();
      queue.push(-1);
      await reading;
      expect(taken).toEqual(pauses.map((_, index) => index));
      expect(queue.size).toBe(0);
    }),
    { numRuns: 30 },
  );
});

test('what was taken is not kept', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const queue = new AsyncQueue<object>();
  const iterator = queue[Symbol.asyncIterator]();
  const refs: WeakRef<object>[] = [];
  for (let index = 0; index < 10; index += 1) {
    const value = { index };
    refs.push(new WeakRef(value));
    queue.push(value);
  }
  for (let index = 0; index < 10; index += 1) await iterator.next();
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  // The generator itself still holds the one it gave out last.
  expect(refs.slice(0, 9).filter((ref) => ref.deref() !== undefined)).toEqual([]);
});
