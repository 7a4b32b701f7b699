/**
 * Knows what the client of one connection has certainly read. The protocol has no acknowledgements, so after every
 * CONFIRM_EVERY_BYTES the connection is asked to confirm; its answer covers all that was sent before. Output from before
 * the connection was attached (the gap) is not pushed again: it counts as read once a `process/read` has carried it, or
 * when the client does not ask for it in time.
 */
import { CONFIRM_EVERY_BYTES, CONFIRM_TIMEOUT_MS, MAX_OPEN_CONFIRMATIONS } from '../../limits.ts';
import type { Process } from '../../process/process.ts';
import type { Connection } from '../../transport/connection.ts';

export type DeliveryOptions = {
  /** The client has read the process's events up to `seq`. */
  confirmed(process: Process, seq: number): void;
  /** The client stopped (or started again) confirming. */
  silent(isSilent: boolean): void;
  timeoutMs?: number;
};

type Gap = { process: Process; readSeq: number; endSeq: number; pushedSeq: number; timer: NodeJS.Timeout };

export class Delivery {
  readonly #connection: Connection;
  readonly #options: Required<DeliveryOptions>;
  readonly #gaps = new Map<Process, Gap>();
  #sent = new Map<Process, number>();
  #sentBytes = 0;
  #asked = 0;
  #timer: NodeJS.Timeout | undefined;
  #silent = false;
  #ended = false;

  constructor(connection: Connection, options: DeliveryOptions) {
    this.#connection = connection;
    this.#options = { timeoutMs: CONFIRM_TIMEOUT_MS, ...options };
  }

  /** Events up to `endSeq` happened before this connection and are not known to have been read. */
  openGap(process: Process, readSeq: number, endSeq: number): void {
    const gap: Gap = { process, readSeq, endSeq, pushedSeq: endSeq, timer: this.#gapTimer(process) };
    this.#gaps.set(process, gap);
  }

  /** An event was pushed with a frame of this many bytes. */
  pushed(process: Process, seq: number, bytes: number): void {
    const gap = this.#gaps.get(process);
    if (gap) gap.pushedSeq = seq;
    else this.#sent.set(process, seq);
    this.#count(bytes);
  }

  /** A read answer is about to be sent; with it the client has every event up to `throughSeq` it asked for. */
  answered(process: Process, throughSeq: number, bytes: number): void {
    const gap = this.#gaps.get(process);
    if (gap) {
      gap.readSeq = Math.max(gap.readSeq, throughSeq);
      if (gap.readSeq >= gap.endSeq) this.#closeGap(gap);
      else gap.timer.refresh();
    }
    this.#count(bytes);
  }

  /** The process is forgotten. */
  forget(process: Process): void {
    const gap = this.#gaps.get(process);
    if (gap) clearTimeout(gap.timer);
    this.#gaps.delete(process);
    this.#sent.delete(process);
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const gap of this.#gaps.values()) clearTimeout(gap.timer);
    this.#gaps.clear();
    this.#sent.clear();
  }

  #gapTimer(process: Process): NodeJS.Timeout {
    return setTimeout(() => {
      const gap = this.#gaps.get(process);
      if (gap) this.#closeGap(gap);
    }, this.#options.timeoutMs).unref();
  }

  #closeGap(gap: Gap): void {
    clearTimeout(gap.timer);
    this.#gaps.delete(gap.process);
    this.#sent.set(gap.process, gap.pushedSeq);
    this.#ask(); // The child may be paused for want of this.
  }

  #count(bytes: number): void {
    this.#sentBytes += bytes;
    if (this.#sentBytes >= CONFIRM_EVERY_BYTES && this.#asked < MAX_OPEN_CONFIRMATIONS) this.#ask();
  }

  #ask(): void {
    const sent = this.#sent;
    this.#sent = new Map();
    this.#sentBytes = 0;
    this.#asked += 1;
    this.#timer ??= this.#silenceTimer();
    void this.#connection.confirm().then((wasRead) => this.#answered(sent, wasRead)); // `confirm` never rejects.
  }

  #answered(sent: Map<Process, number>, wasRead: boolean): void {
    if (this.#ended || !wasRead) return;
    this.#asked -= 1;
    clearTimeout(this.#timer);
    this.#timer = this.#asked > 0 ? this.#silenceTimer() : undefined;
    this.#setSilent(false);
    for (const [process, seq] of sent) this.#options.confirmed(process, seq);
    this.#count(0); // What was sent while too many questions were open.
  }

  #silenceTimer(): NodeJS.Timeout {
    return setTimeout(() => this.#setSilent(true), this.#options.timeoutMs).unref();
  }

  #setSilent(silent: boolean): void {
    if (silent === this.#silent) return;
    this.#silent = silent;
    this.#options.silent(silent);
  }
}
