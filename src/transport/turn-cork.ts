/**
 * Joins what is written to a stream in one turn of the event loop into one write to the system. It holds nothing back
 * longer than that turn and never more than a fixed number of bytes.
 */
import type { Writable } from 'node:stream';

/** Beyond this a longer join saves no system calls worth having and only delays the first byte. */
const MAX_JOINED_BYTES = 256 * 1024;

export class TurnCork {
  readonly #stream: Writable;
  #held: boolean = false;
  #scheduled: boolean = false;
  #bytes = 0;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** Call before a write. */
  hold(): void {
    if (this.#held) return;
    this.#held = true;
    this.#stream.cork();
    if (this.#scheduled) return;
    this.#scheduled = true;
    // A tick runs after the promise jobs that queued it, so the answers to a batch of messages leave together.
    process.nextTick(() => {
      this.#scheduled = false;
      this.#release();
    });
  }

  /** Call after a write. */
  added(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes >= MAX_JOINED_BYTES) this.#release();
  }

  /** Lets go of what is held, now. */
  #release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#bytes = 0;
    this.#stream.uncork();
  }
}
