/**
 * What a process printed, kept for readers who come later or come back. Bounded in bytes and in chunks; says what it
 * dropped. Pure: no I/O, no clock. Reading is asynchronous because a log on disk will have the same interface.
 */
import type { OutputStream } from './spawner.ts';

/** One piece of output. Its bytes belong to the log and are not to be changed; what they are a view of stays in memory. */
export type Chunk = { readonly seq: number; readonly stream: OutputStream; readonly bytes: Uint8Array };

/**
 * `hold`: nothing is dropped before it was confirmed, so the owner must pause the child when too much is held.
 * `drain`: the oldest is dropped when the limits are exceeded, read or not.
 */
export type OutputMode = 'hold' | 'drain';

export interface OutputLog {
  mode: OutputMode;
  /** The oldest seq still held; undefined while nothing is. */
  readonly firstSeq: number | undefined;
  readonly heldBytes: number;
  readonly heldChunks: number;
  /** Held bytes of chunks the client is not known to have read. */
  readonly unconfirmedBytes: number;
  /** Everything up to this seq is known to have been read. */
  readonly confirmedSeq: number;
  /** Everything ever dropped. */
  readonly lostBytes: number;
  readonly lostChunks: number;

  /** Seqs rise; they may have gaps. */
  append(seq: number, stream: OutputStream, bytes: Uint8Array): void;
  /**
   * The held chunks after a seq. The first is always given whole; then as many as fit in `maxBytes`, and none once it
   * is reached.
   */
  read(afterSeq: number, maxBytes: number | undefined): Promise<Chunk[]>;
  /** Everything up to `seq` was read by the client. A lower seq than before changes nothing. */
  confirm(seq: number): void;
}

export type OutputLogOptions = {
  retainBytes: number;
  retainChunks: number;
  /** Called once for each append, confirmation or change of mode that dropped something, with the number of bytes. */
  onEvicted?: (bytes: number) => void;
};

/** Dropped slots in front of the array are cut off when there are more of them than of live ones, and at least so many. */
const MIN_COMPACTION = 1_024;

export class MemoryOutputLog implements OutputLog {
  readonly #retainBytes: number;
  readonly #retainChunks: number;
  readonly #onEvicted: ((bytes: number) => void) | undefined;
  /** Held chunks in seq order, after `#head` empty slots. */
  #slots: (Chunk | undefined)[] = [];
  #head = 0;
  /** Index of the first slot whose chunk is not confirmed. */
  #unconfirmedFrom = 0;
  #mode: OutputMode = 'hold';
  #lastSeq = 0;
  #heldBytes = 0;
  #unconfirmedBytes = 0;
  #confirmedSeq = 0;
  #lostBytes = 0;
  #lostChunks = 0;

  constructor({ retainBytes, retainChunks, onEvicted }: OutputLogOptions) {
    this.#retainBytes = retainBytes;
    this.#retainChunks = retainChunks;
    this.#onEvicted = onEvicted;
  }

  get mode(): OutputMode {
    return this.#mode;
  }

  set mode(mode: OutputMode) {
    this.#mode = mode;
    this.#evict();
  }

  get firstSeq(): number | undefined {
    return this.#slots[this.#head]?.seq;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get heldChunks(): number {
    return this.#slots.length - this.#head;
  }

  get unconfirmedBytes(): number {
    return this.#unconfirmedBytes;
  }

  get confirmedSeq(): number {
    return this.#confirmedSeq;
  }

  get lostBytes(): number {
    return this.#lostBytes;
  }

  get lostChunks(): number {
    return this.#lostChunks;
  }

  append(seq: number, stream: OutputStream, bytes: Uint8Array): void {
    if (seq <= this.#lastSeq) throw new RangeError(`seq ${seq} after ${this.#lastSeq}`);
    this.#lastSeq = seq;
    this.#slots.push({ seq, stream, bytes });
    this.#heldBytes += bytes.byteLength;
    this.#unconfirmedBytes += bytes.byteLength;
    this.#advanceConfirmed();
    this.#evict();
  }

  async read(afterSeq: number, maxBytes: number | undefined): Promise<Chunk[]> {
    const chunks: Chunk[] = [];
    const limit = maxBytes ?? Number.POSITIVE_INFINITY;
    let total = 0;
    for (let at = this.#indexAfter(afterSeq); at < this.#slots.length; at += 1) {
      const chunk = this.#slots[at];
      if (!chunk || (chunks.length > 0 && total + chunk.bytes.byteLength > limit)) break;
      chunks.push(chunk);
      total += chunk.bytes.byteLength;
      if (total >= limit) break;
    }
    return chunks;
  }

  confirm(seq: number): void {
    if (seq <= this.#confirmedSeq) return;
    this.#confirmedSeq = seq;
    this.#advanceConfirmed();
    this.#evict();
  }

  /** Each chunk is passed once in its life, so this costs nothing in the long run. */
  #advanceConfirmed(): void {
    for (; this.#unconfirmedFrom < this.#slots.length; this.#unconfirmedFrom += 1) {
      const chunk = this.#slots[this.#unconfirmedFrom];
      if (!chunk || chunk.seq > this.#confirmedSeq) return;
      this.#unconfirmedBytes -= chunk.bytes.byteLength;
    }
  }

  #evict(): void {
    let bytes = 0;
    for (;;) {
      const oldest = this.#slots[this.#head];
      if (!oldest || (this.#heldBytes <= this.#retainBytes && this.heldChunks <= this.#retainChunks)) break;
      if (this.#head === this.#unconfirmedFrom) {
        if (this.#mode === 'hold') break;
        this.#unconfirmedFrom += 1;
        this.#unconfirmedBytes -= oldest.bytes.byteLength;
      }
      this.#slots[this.#head] = undefined;
      this.#head += 1;
      this.#heldBytes -= oldest.bytes.byteLength;
      this.#lostChunks += 1;
      bytes += oldest.bytes.byteLength;
    }
    if (this.#head >= MIN_COMPACTION && this.#head * 2 > this.#slots.length) this.#compact();
    if (bytes === 0) return;
    this.#lostBytes += bytes;
    this.#onEvicted?.(bytes);
  }

  #compact(): void {
    this.#slots = this.#slots.slice(this.#head);
    this.#unconfirmedFrom -= this.#head;
    this.#head = 0;
  }

  /** The first slot whose chunk comes after `seq`. */
  #indexAfter(seq: number): number {
    let low = this.#head;
    let high = this.#slots.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#slots[middle]?.seq ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
