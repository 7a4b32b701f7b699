/**
 * One output stream of a child of the portable spawner. Node may let a stream flow again by itself (it does when a
 * child exits), so the promise that nothing is delivered while paused is kept here and not left to the stream. Holds
 * back at most what was already read; reading itself is paused, so the child blocks.
 */
import type { Readable } from 'node:stream';

type Receiver = { deliver(bytes: Uint8Array): void; ended(): void };

export class PausableOutput {
  readonly #source: Readable;
  #held: Uint8Array[] = [];
  #receiver: Receiver | undefined;
  #paused = false;
  #state: 'reading' | 'closed' | 'ended' = 'reading';

  /** Nothing is delivered before `begin`. The source is owned from here on. */
  constructor(source: Readable) {
    this.#source = source;
    source.pause();
    source.on('data', (bytes: Uint8Array) => this.push(bytes));
    // An error on a stream from a child is its end (a terminal says EIO); `close` follows.
    source.on('error', () => {});
    source.on('close', () => {
      this.#state = 'closed';
      this.#endIfDone();
    });
  }

  /** `ended` is called once, after the last delivery. */
  begin(receiver: Receiver): void {
    this.#receiver = receiver;
    this.#continueLater();
  }

  pause(): void {
    this.#paused = true;
    this.#source.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#continueLater();
  }

  /** Output that was read in another way comes in here, after what the source gave so far. */
  push(bytes: Uint8Array): void {
    if (this.#receiver && !this.#paused && this.#held.length === 0) {
      this.#receiver.deliver(bytes);
      return;
    }
    this.#held.push(bytes);
    this.#source.pause();
  }

  /** Takes over what the source has read and not yet given, even while paused. */
  takeBuffered(): void {
    this.#source.read();
  }

  /** No more is read; what was read is still delivered. */
  close(): void {
    this.#source.destroy();
  }

  /** No more is read and nothing is delivered any more, so `ended` follows at once. */
  discard(): void {
    this.#held = [];
    this.#source.destroy();
    this.#continueLater();
  }

  /** Later, as a stream does it: whoever resumes does not expect output before the call returns. */
  #continueLater(): void {
    process.nextTick(() => {
      while (this.#receiver && !this.#paused) {
        const bytes = this.#held.shift();
        if (!bytes) break;
        this.#receiver.deliver(bytes);
      }
      if (this.#receiver && !this.#paused) this.#source.resume();
      this.#endIfDone();
    });
  }

  #endIfDone(): void {
    if (this.#state !== 'closed' || !this.#receiver || this.#held.length > 0) return;
    this.#state = 'ended';
    this.#receiver.ended();
  }
}
