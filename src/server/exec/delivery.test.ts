import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CONFIRM_EVERY_BYTES, MAX_OPEN_CONFIRMATIONS } from '../../limits.ts';
import type { Process } from '../../process/process.ts';
import type { Connection } from '../../transport/connection.ts';
import { type Deferred, deferred } from '../../util/deferred.ts';
import { Delivery } from './delivery.ts';

const TIMEOUT_MS = 10_000;
const name = (id: string): Process => ({ id }) as unknown as Process; // Only its identity matters here.

function scene() {
  const asked: Deferred<boolean>[] = [];
  const confirmed: [string, number][] = [];
  const silences: boolean[] = [];
  const connection = {
    confirm: () => {
      const answer = deferred<boolean>();
      asked.push(answer);
      return answer.promise;
    },
  } as unknown as Connection; // The one thing delivery uses.
  const delivery = new Delivery(connection, {
    timeoutMs: TIMEOUT_MS,
    confirmed: (process, seq) => confirmed.push([process.id, seq]),
    silent: (isSilent) => silences.push(isSilent),
  });
  const answer = async (index: number, value = true): Promise<void> => {
    asked[index]?.resolve(value);
    await Promise.resolve();
    await Promise.resolve();
  };
  return { delivery, asked, confirmed, silences, answer };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount(), 'timers left behind').toBe(0);
  vi.useRealTimers();
});

test('it asks after so many bytes, and the answer covers what was sent before the question', async () => {
  const { delivery, asked, confirmed, answer } = scene();
  const [a, b] = [name('a'), name('b')];
  delivery.pushed(a, 1, CONFIRM_EVERY_BYTES - 1);
  expect(asked).toHaveLength(0);
  delivery.pushed(b, 7, 1);
  expect(asked).toHaveLength(1);
  delivery.pushed(a, 2, 10);
  await answer(0);
  expect(confirmed).toEqual([
    ['a', 1],
    ['b', 7],
  ]);
  delivery.end();
});

test('a gap is confirmed only when a read has carried all of it', async () => {
  const { delivery, asked, confirmed, answer } = scene();
  const process = name('p');
  delivery.openGap(process, 3, 9);
  delivery.pushed(process, 10, CONFIRM_EVERY_BYTES);
  await answer(0);
  expect(confirmed, 'a push beyond the gap says nothing of the gap').toEqual([]);
  delivery.answered(process, 6, 10);
  expect(asked).toHaveLength(1);
  delivery.answered(process, 9, 10);
  expect(asked, 'the end of the gap is asked for at once').toHaveLength(2);
  await answer(1);
  expect(confirmed).toEqual([['p', 10]]);
  delivery.end();
});

test('a gap nobody reads is given up after the timeout, and each read buys more time', async () => {
  const { delivery, asked, confirmed, answer } = scene();
  const process = name('p');
  delivery.openGap(process, 0, 100);
  vi.advanceTimersByTime(TIMEOUT_MS - 1);
  delivery.answered(process, 50, 10);
  vi.advanceTimersByTime(TIMEOUT_MS - 1);
  expect(asked).toHaveLength(0);
  vi.advanceTimersByTime(1);
  expect(asked).toHaveLength(1);
  await answer(0);
  expect(confirmed).toEqual([['p', 100]]);
  delivery.end();
});

test('a client that confirms nothing is silent after the timeout, and speaks again with its first answer', async () => {
  const { delivery, silences, answer } = scene();
  delivery.pushed(name('p'), 1, CONFIRM_EVERY_BYTES);
  delivery.pushed(name('p'), 2, CONFIRM_EVERY_BYTES);
  vi.advanceTimersByTime(TIMEOUT_MS);
  expect(silences).toEqual([true]);
  await answer(0);
  expect(silences).toEqual([true, false]);
  vi.advanceTimersByTime(TIMEOUT_MS);
  expect(silences, 'the second question is still open').toEqual([true, false, true]);
  delivery.end();
});

test('a peer that answers nothing is not asked without end, and one answer is enough to ask again', async () => {
  const { delivery, asked, answer } = scene();
  for (let seq = 1; seq <= 500; seq += 1) delivery.pushed(name('p'), seq, CONFIRM_EVERY_BYTES);
  expect(asked).toHaveLength(MAX_OPEN_CONFIRMATIONS);
  await answer(0);
  expect(asked).toHaveLength(MAX_OPEN_CONFIRMATIONS + 1);
  delivery.end();
});

test('a connection that ended confirms nothing, and nothing happens after the end', async () => {
  const { delivery, confirmed, silences, answer } = scene();
  delivery.pushed(name('p'), 1, CONFIRM_EVERY_BYTES);
  await answer(0, false);
  delivery.pushed(name('p'), 2, CONFIRM_EVERY_BYTES);
  delivery.end();
  await answer(1);
  vi.advanceTimersByTime(10 * TIMEOUT_MS);
  expect(confirmed).toEqual([]);
  expect(silences).toEqual([]);
});
