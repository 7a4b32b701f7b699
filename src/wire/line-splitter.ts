/**
 * Cuts a byte stream into lines for the stdio framing, whatever the chunks it arrives in. Holds one unfinished line at
 * most, and that within the message limit. Does not look inside a line: blank ones are handed out too.
 */
import { Buffer } from 'node:buffer';
import { MAX_MESSAGE_BYTES } from '../limits.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
// A first size that takes most unfinished lines without growing.
const MIN_HELD_BYTES = 4096;

/** Lines handed out share memory with the chunks they came in. */
export class LineSplitter {
  readonly #maxBytes: number;
  #held = Buffer.alloc(0);
  #heldBytes = 0;
  #overflowed: boolean = false;

  constructor(maxBytes: number = MAX_MESSAGE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** True once a line was too long; nothing comes out any more, and nothing is held. */
  get overflowed(): boolean {
    return this.#overflowed;
  }

  /** The lines this chunk completes, without their terminators. Look at `overflowed` afterwards. */
  push(chunk: Uint8Array): Uint8Array[] {
    const lines: Uint8Array[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const part = chunk.subarray(start, end);
      if (!this.#accept(part)) return lines;
      lines.push(this.#take(part));
      start = end + 1;
    }
    const rest = chunk.subarray(start);
    if (this.#accept(rest)) this.#hold(rest);
    return lines;
  }

  /** The last line when the stream ended without a terminator. */
  flush(): Uint8Array | undefined {
    return this.#heldBytes === 0 ? undefined : this.#take(new Uint8Array(0));
  }

  /** A carriage return just past the limit may be half a terminator. */
  #accept(part: Uint8Array): boolean {
    const excess = this.#heldBytes + part.length - this.#maxBytes;
    const last = part.at(-1) ?? this.#held[this.#heldBytes - 1];
    if (this.#overflowed || excess > 1 || (excess === 1 && last !== CARRIAGE_RETURN)) {
      this.#overflowed = true;
      this.#release();
      return false;
    }
    return true;
  }

  #take(part: Uint8Array): Uint8Array {
    let line = part;
    if (this.#heldBytes > 0) {
      this.#hold(part);
      line = this.#held.subarray(0, this.#heldBytes);
      this.#release();
    }
    return line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
  }

  /** Grows by doubling, so that a line of many small chunks is copied a constant number of times. */
  #hold(part: Uint8Array): void {
    const needed = this.#heldBytes + part.length;
    if (needed > this.#held.length) {
      const grown = Buffer.allocUnsafe(Math.min(Math.max(MIN_HELD_BYTES, 2 * needed), this.#maxBytes + 1));
      this.#held.copy(grown, 0, 0, this.#heldBytes);
      this.#held = grown;
    }
    this.#held.set(part, this.#heldBytes);
    this.#heldBytes = needed;
  }

  /** A line handed out keeps the old buffer, so the next one needs its own. */
  #release(): void {
    this.#held = Buffer.alloc(0);
    this.#heldBytes = 0;
  }
}
