/**
 * Whether the sending side of a connection is congested: a switch with two marks, and those who wait for it to open.
 * It is told how many bytes are queued and holds none itself.
 */
import { SEND_HIGH_WATER_BYTES, SEND_LOW_WATER_BYTES } from '../limits.ts';
import { type Deferred, deferred } from '../util/deferred.ts';

export class SendGate {
  #congested: boolean = false;
  #ended: boolean = false;
  #waiting: Deferred<void> | undefined;

  get congested(): boolean {
    return this.#congested;
  }

  /** Takes note of the bytes queued now, after more were queued or some left. */
  update(queuedBytes: number): void {
    if (this.#ended) return;
    if (!this.#congested) this.#congested = queuedBytes > SEND_HIGH_WATER_BYTES;
    else if (queuedBytes < SEND_LOW_WATER_BYTES) this.#open();
  }

  /** Lets everyone pass for good: the connection has ended and nothing will be sent any more. */
  end(): void {
    this.#ended = true;
    this.#open();
  }

  drained(): Promise<void> {
    if (!this.#congested) return Promise.resolve();
    this.#waiting ??= deferred();
    return this.#waiting.promise;
  }

  #open(): void {
    this.#congested = false;
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}
