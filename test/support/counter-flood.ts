/**
 * A printer whose every four bytes say where in the stream they are, and a reader that checks them: output that is lost,
 * doubled or out of place cannot go unnoticed.
 */
import type { TestClient } from './client.ts';

/** argv of a program that prints `total` bytes (a multiple of 64 KiB) of little-endian counters as fast as it can. */
export function counterFlood(total: number): string[] {
  const script = `
    const { writeSync } = require('node:fs');
    const block = new Uint32Array(16384);
    let count = 0;
    for (let left = ${total / 65_536}; left > 0; left -= 1) {
      for (let index = 0; index < block.length; index += 1) block[index] = count++;
      let bytes = Buffer.from(block.buffer);
      while (bytes.length > 0) {
        try { bytes = bytes.subarray(writeSync(1, bytes)); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
      }
    }`;
  return [process.execPath, '-e', script];
}

export type ReadAnswer = {
  chunks: { seq: number; chunk: string }[];
  nextSeq: number;
  exited: boolean;
  closed: boolean;
  firstSeq?: number;
  lostBytes?: number;
};

type Piece = Buffer | 'event';

/** What one reader has of the flood, over any number of connections. */
export class CounterReader {
  readonly #processId: string;
  readonly #early = new Map<number, Piece>();
  #cursor = 0;
  #rest: Buffer = Buffer.alloc(0);
  /** Everything up to this seq is here. */
  lastSeq = 0;
  /** How far the stream was followed, in bytes, and how many of them the server said are gone. */
  offset = 0;
  skipped = 0;
  closed = false;

  constructor(processId: string) {
    this.#processId = processId;
  }

  /** Takes what was pushed on this connection since the last call. */
  takePushes(client: TestClient): void {
    for (; this.#cursor < client.messages.length; this.#cursor += 1) {
      const message = client.messages[this.#cursor];
      if (message?.type !== 'notification') continue;
      const { processId, seq, chunk } = message.params as { processId: string; seq: number; chunk?: string };
      if (processId !== this.#processId) continue;
      this.#take(seq, chunk === undefined ? 'event' : Buffer.from(chunk, 'base64'));
      if (message.method === 'process/closed') this.closed = true;
    }
  }

  /** Forgets where it was in the messages of the old connection. */
  newConnection(): void {
    this.#cursor = 0;
  }

  /** Takes the answer to a read after `lastSeq`. */
  takeRead({ chunks, nextSeq, firstSeq, lostBytes, closed }: ReadAnswer): void {
    if (firstSeq !== undefined && lostBytes !== undefined && firstSeq > this.lastSeq + 1) {
      this.skipped += lostBytes - this.offset - this.#rest.length;
      this.offset = lostBytes;
      this.#rest = Buffer.alloc(0);
      this.lastSeq = firstSeq - 1;
    }
    const seqs = new Set(chunks.map(({ seq }) => seq));
    for (const { seq, chunk } of chunks) this.#take(seq, Buffer.from(chunk, 'base64'));
    // Numbers without output inside the answer are the exit and the close.
    for (let seq = this.lastSeq + 1; seq < nextSeq; seq += 1) if (!seqs.has(seq)) this.#take(seq, 'event');
    if (closed) this.closed = true;
  }

  #take(seq: number, piece: Piece): void {
    if (seq <= this.lastSeq) return;
    this.#early.set(seq, piece);
    for (;;) {
      const next = this.#early.get(this.lastSeq + 1);
      if (next === undefined) return;
      this.lastSeq += 1;
      this.#early.delete(this.lastSeq);
      if (next !== 'event') this.#check(next);
    }
  }

  #check(bytes: Buffer): void {
    const all = this.#rest.length > 0 ? Buffer.concat([this.#rest, bytes]) : bytes;
    const whole = all.length - (all.length % 4);
    for (let at = 0; at < whole; at += 4) {
      const expected = (this.offset + at) / 4;
      if (all.readUInt32LE(at) !== expected) {
        throw new Error(`byte ${this.offset + at}: found ${all.readUInt32LE(at)} instead of ${expected}`);
      }
    }
    this.offset += whole;
    this.#rest = all.subarray(whole);
  }
}
