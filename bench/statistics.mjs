/** Small arithmetic over samples, and loops that end by count or by time. Knows nothing of servers. */
import { setTimeout as sleep } from 'node:timers/promises';

export { sleep };

export function percentile(samples, share) {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/** Holes, which failed runs leave, do not count. */
export function median(samples) {
  const sorted = samples.filter(Number.isFinite).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Median of ours/theirs, run by run: neighbouring runs share the noise of the machine, so it cancels out. */
export function pairedRatio(ours, theirs) {
  const ratios = [];
  for (let run = 0; run < Math.min(ours.length, theirs.length); run += 1) {
    if (ours[run] > 0 && theirs[run] > 0) ratios.push(ours[run] / theirs[run]);
  }
  return ratios.length === 0 ? undefined : median(ratios);
}

/** Calls `body` one after another until either limit is reached; gives the number of calls and the seconds they took. */
export async function repeat({ seconds, atMost = Number.POSITIVE_INFINITY }, body) {
  const begin = performance.now();
  const end = begin + seconds * 1000;
  let count = 0;
  do {
    await body(count);
    count += 1;
  } while (count < atMost && performance.now() < end);
  return { count, seconds: (performance.now() - begin) / 1000 };
}

/** The same with `lanes` calls under way at a time. */
export async function repeatInLanes(lanes, { seconds, atMost = Number.POSITIVE_INFINITY }, body) {
  const begin = performance.now();
  const end = begin + seconds * 1000;
  let count = 0;
  async function runLane() {
    while (count < atMost && performance.now() < end) {
      count += 1;
      await body();
    }
  }
  await Promise.all(Array.from({ length: lanes }, runLane));
  return { count, seconds: (performance.now() - begin) / 1000 };
}

/** Rejects when `promise` takes longer; what it waits for is not stopped by this. */
export async function within(limitMs, what, promise) {
  const abort = new AbortController();
  const late = sleep(limitMs, undefined, { signal: abort.signal }).then(() => {
    throw new Error(`${what}: nothing after ${limitMs / 1000} s`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    abort.abort();
    late.catch(() => {}); // The rejection of an aborted timer has nothing to tell.
  }
}
