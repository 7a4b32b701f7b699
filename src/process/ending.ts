/**
 * When and why a process is ended by us: timeouts, polite termination, and the wait for its last output afterwards. It
 * acts on the child and remembers the reason; the process itself reports it.
 */
import { LAST_OUTPUT_MS } from '../limits.ts';
import { clampDelay } from '../util/timer.ts';
import type { SpawnedChild } from './spawner.ts';

export type EndReason = 'timedOut' | 'idleTimedOut' | 'terminated';

export type EndingOptions = {
  child: Pick<SpawnedChild, 'signal' | 'kill'>;
  timeoutMs: number | undefined;
  idleTimeoutMs: number | undefined;
  /** True while the child's output is held back, so that its last bytes cannot have come yet. */
  isPaused(): boolean;
};

export class Ending {
  readonly #child: EndingOptions['child'];
  readonly #isPaused: () => boolean;
  readonly #idleTimeoutMs: number | undefined;
  readonly #timeout: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #step: NodeJS.Timeout | undefined;
  #activeAt = performance.now();
  #reason: EndReason | undefined;

  constructor({ child, timeoutMs, idleTimeoutMs, isPaused }: EndingOptions) {
    this.#child = child;
    this.#isPaused = isPaused;
    this.#idleTimeoutMs = idleTimeoutMs;
    if (timeoutMs !== undefined) this.#timeout = setTimeout(() => this.#endNow('timedOut'), clampDelay(timeoutMs));
    if (idleTimeoutMs !== undefined) this.#watchIdle(idleTimeoutMs);
  }

  /** Why we ended it, if we did. */
  get reason(): EndReason | undefined {
    return this.#reason;
  }

  /** It printed something, or was written to. */
  active(): void {
    this.#activeAt = performance.now();
  }

  /** The reference's way: killed, and our ends of its streams closed, whatever is still in them. */
  terminateAtOnce(): void {
    this.#reason ??= 'terminated';
    this.#child.kill();
  }

  /** Asks the group to end, and kills it when it has not after `graceMs`. What it still prints is read. */
  terminate(graceMs: number): void {
    this.#reason ??= 'terminated';
    this.#child.signal('SIGTERM');
    this.#child.signal('SIGCONT'); // A stopped process would not hear the request.
    clearTimeout(this.#step);
    this.#step = setTimeout(() => this.#killGroup(), clampDelay(graceMs));
  }

  /** The child is gone. If that was our doing, a descendant that escaped with its output does not keep it open. */
  exited(): void {
    this.#clear();
    if (this.#reason !== undefined) this.#awaitLastOutput();
  }

  /** The last output came. */
  closed(): void {
    this.#clear();
  }

  #endNow(reason: EndReason): void {
    this.#reason ??= reason;
    this.#killGroup();
  }

  /** Nobody hears an error of a timer. A group that may not be signalled (another user's) is at least let go of. */
  #killGroup(): void {
    try {
      this.#child.signal('SIGKILL');
    } catch {
      this.#child.kill();
    }
  }

  #awaitLastOutput(): void {
    this.#step = setTimeout(() => {
      if (this.#isPaused()) this.#awaitLastOutput();
      else this.#child.kill();
    }, LAST_OUTPUT_MS);
  }

  #watchIdle(afterMs: number): void {
    this.#idle = setTimeout(() => {
      const limit = this.#idleTimeoutMs ?? 0;
      const idleMs = performance.now() - this.#activeAt;
      if (idleMs >= limit) this.#endNow('idleTimedOut');
      else this.#watchIdle(limit - idleMs);
    }, clampDelay(afterMs));
  }

  #clear(): void {
    clearTimeout(this.#timeout);
    clearTimeout(this.#idle);
    clearTimeout(this.#step);
  }
}
