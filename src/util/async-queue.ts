/**
 * A queue with one consumer: values pushed from callbacks, taken with `for await`. It does not bound itself; the
 * producer looks at `size` and slows down, and is told through `onTaken` when the consumer has caught up.
 */
import { type Deferred, deferred } from './deferred.ts';

export class AsyncQueue<T> implements AsyncIterable<T> {
  /** Waiting values from `#head` on; what was taken is not kept. */
  readonly #values: (T | undefined)[] = [];
  readonly #onTaken: ((value: T) => void) | undefined;
  #head = 0;
  #ended = false;
  #waiting: Deferred<void> | undefined;

  constructor(onTaken?: (value: T) => void) {
    this.#onTaken = onTaken;
  }

  get size(): number {
    return this.#values.length - this.#head;
  }

  push(value: T): void {
    if (this.#ended) return;
    this.#values.push(value);
    this.#wake();
  }

  /** No more values; those queued are still delivered. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (;;) {
      while (this.#head < this.#values.length) {
        const value = this.#values[this.#head] as T;
        this.#values[this.#head] = undefined;
        this.#head += 1;
        if (this.#head > 256 && this.#head * 2 > this.#values.length) {
          this.#values.splice(0, this.#head);
          this.#head = 0;
        }
        this.#onTaken?.(value);
        yield value;
      }
      if (this.#ended) return;
      this.#waiting = deferred();
      await this.#waiting.promise;
    }
  }

  #wake(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}
