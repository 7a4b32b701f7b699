import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LAST_OUTPUT_MS } from '../limits.ts';
import { Ending, type EndingOptions } from './ending.ts';

function scene(options: Partial<EndingOptions> = {}) {
  const done: string[] = [];
  const ending = new Ending({
    child: { signal: (name) => done.push(name), kill: () => done.push('kill') },
    timeoutMs: undefined,
    idleTimeoutMs: undefined,
    isPaused: () => false,
    ...options,
  });
  return { ending, done };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount(), 'timers left behind').toBe(0);
  vi.useRealTimers();
});

test('a timeout kills the group and is the reason', () => {
  const { ending, done } = scene({ timeoutMs: 100 });
  vi.advanceTimersByTime(99);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(done).toEqual(['SIGKILL']);
  expect(ending.reason).toBe('timedOut');
  ending.exited();
  ending.closed();
});

test('activity puts the idle timeout off, silence brings it', () => {
  const { ending, done } = scene({ idleTimeoutMs: 100 });
  for (let index = 0; index < 5; index += 1) {
    vi.advanceTimersByTime(90);
    ending.active();
  }
  expect(done).toEqual([]);
  vi.advanceTimersByTime(99);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(done).toEqual(['SIGKILL']);
  expect(ending.reason).toBe('idleTimedOut');
  ending.closed();
});

test('a process that exits in time is not ended', () => {
  const { ending, done } = scene({ timeoutMs: 100, idleTimeoutMs: 50 });
  ending.exited();
  vi.advanceTimersByTime(1_000);
  expect(done).toEqual([]);
  expect(ending.reason).toBeUndefined();
});

test('a polite termination asks, wakes, waits and kills', () => {
  const { ending, done } = scene();
  ending.terminate(200);
  expect(done).toEqual(['SIGTERM', 'SIGCONT']);
  vi.advanceTimersByTime(200);
  expect(done).toEqual(['SIGTERM', 'SIGCONT', 'SIGKILL']);
  ending.closed();
});

test('after an end that was ours the output is closed when nothing more comes, but not while it is paused', () => {
  let isPaused = true;
  const { ending, done } = scene({ isPaused: () => isPaused });
  ending.terminate(1_000);
  ending.exited();
  vi.advanceTimersByTime(5 * LAST_OUTPUT_MS);
  expect(done).toEqual(['SIGTERM', 'SIGCONT']);
  isPaused = false;
  vi.advanceTimersByTime(LAST_OUTPUT_MS);
  expect(done).toEqual(['SIGTERM', 'SIGCONT', 'kill']);
  ending.closed();
});

test('a group that may not be signalled is let go of instead', () => {
  const done: string[] = [];
  const refuse = (): never => {
    throw new Error('Operation not permitted');
  };
  const { ending } = scene({ timeoutMs: 10, child: { signal: refuse, kill: () => done.push('kill') } });
  vi.advanceTimersByTime(10);
  expect(done).toEqual(['kill']);
  ending.closed();
});

test('the first reason stays, and very long timeouts do not fire at once', () => {
  const { ending, done } = scene({ timeoutMs: Number.MAX_SAFE_INTEGER });
  vi.advanceTimersByTime(1_000_000);
  expect(done).toEqual([]);
  ending.terminateAtOnce();
  ending.terminate(1);
  expect(ending.reason).toBe('terminated');
  ending.closed();
});
