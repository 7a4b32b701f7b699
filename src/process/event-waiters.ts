/** Readers that wait for the next event of one process. Many that wait for a later one cost an earlier one nothing. */
import { clampDelay } from '../util/timer.ts';

type Waiter = { afterSeq: number; wake(): void };

export class EventWaiters {
  readonly #waiters = new Set<Waiter>();
  /** No event up to this seq concerns any waiter. */
  #nobodyBefore = Number.POSITIVE_INFINITY;

  /** Resolves at an event after `afterSeq`, at the last event, or when the time is up; rejects when aborted. */
  async next(afterSeq: number, timeoutMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    let wake = (): void => {};
    let fail = (_reason: unknown): void => {};
    const woken = new Promise<void>((resolve, reject) => {
      wake = resolve;
      fail = reject;
    });
    const timer = setTimeout(wake, clampDelay(timeoutMs));
    const onAbort = (): void => fail(signal.reason);
    signal.addEventListener('abort', onAbort);
    const waiter: Waiter = { afterSeq, wake };
    this.#waiters.add(waiter);
    this.#nobodyBefore = Math.min(this.#nobodyBefore, afterSeq);
    try {
      await woken;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      this.#waiters.delete(waiter);
    }
  }

  /** An event happened; after the last one nobody has anything to wait for. */
  happened(seq: number, isLast: boolean): void {
    if (seq <= this.#nobodyBefore && !isLast) return;
    let nobodyBefore = Number.POSITIVE_INFINITY;
    for (const { afterSeq, wake } of this.#waiters) {
      if (seq > afterSeq || isLast) wake();
      else nobodyBefore = Math.min(nobodyBefore, afterSeq);
    }
    this.#nobodyBefore = nobodyBefore;
  }
}
