/**
 * Writes unmasked WebSocket text frames, as a server sends them, straight to the socket: the frames of one turn of the
 * event loop become one buffer and one write. The library beside it writes only control frames, each at once, so that
 * flushing before one of those keeps the order.
 */
import type { Socket } from 'node:net';
import type { Frame } from '../wire/message.ts';

/** Beyond this a longer join saves no system calls worth having and only delays the first byte. */
const MAX_JOINED_BYTES = 256 * 1024;
/** Larger frames are written as they are: copying them would cost more than a second write. */
const MAX_COPIED_BYTES = 64 * 1024;

const FINAL_TEXT = 0x81;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const MAX_HEADER_BYTES = 10;

type Pending = { frame: Frame; bytes: number };

export class FrameWriter {
  readonly #socket: Socket;
  readonly #isOpen: () => boolean;
  readonly #onWritten: () => void;
  #pending: Pending[] = [];
  #pendingBytes = 0;
  #isScheduled: boolean = false;

  /** After `isOpen` says no, nothing is written: a close frame may be on its way, and nothing may follow it. */
  constructor(socket: Socket, isOpen: () => boolean, onWritten: () => void) {
    this.#socket = socket;
    this.#isOpen = isOpen;
    this.#onWritten = onWritten;
  }

  /** Bytes not yet handed to the socket. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Queues a frame for the end of this turn; returns the size of its payload. */
  add(frame: Frame): number {
    const bytes = typeof frame === 'string' ? Buffer.byteLength(frame) : frame.byteLength;
    this.#pending.push({ frame, bytes });
    this.#pendingBytes += bytes;
    if (this.#pendingBytes >= MAX_JOINED_BYTES) this.flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      // A tick runs after the promise jobs that queued it, so the answers to a batch of messages leave together.
      process.nextTick(() => {
        this.#isScheduled = false;
        this.flush();
      });
    }
    return bytes;
  }

  /** Hands everything to the socket now. */
  flush(): void {
    if (this.#pending.length === 0) return;
    const pending = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    if (!this.#isOpen()) return;
    for (let start = 0; start < pending.length; ) {
      let end = start;
      let bytes = 0;
      for (; end < pending.length; end += 1) {
        const next = pending[end];
        if (!next || (next.bytes > MAX_COPIED_BYTES && typeof next.frame !== 'string')) break;
        bytes += next.bytes + MAX_HEADER_BYTES;
      }
      if (end > start) this.#writeJoined(pending.slice(start, end), bytes);
      const large = pending[end];
      if (large && typeof large.frame !== 'string') this.#writeLarge(large.frame);
      start = end + 1;
    }
  }

  #writeJoined(frames: readonly Pending[], capacity: number): void {
    const buffer = Buffer.allocUnsafe(capacity);
    let at = 0;
    for (const { frame, bytes } of frames) {
      at = writeHeader(buffer, at, bytes);
      if (typeof frame === 'string') at += buffer.write(frame, at);
      else {
        buffer.set(frame, at);
        at += bytes;
      }
    }
    this.#socket.write(buffer.subarray(0, at), this.#onWritten);
  }

  #writeLarge(payload: Uint8Array): void {
    const header = Buffer.allocUnsafe(MAX_HEADER_BYTES);
    const length = writeHeader(header, 0, payload.byteLength);
    this.#socket.cork();
    this.#socket.write(header.subarray(0, length));
    this.#socket.write(payload, this.#onWritten);
    this.#socket.uncork();
  }
}

/** Returns where the payload begins. */
function writeHeader(buffer: Buffer, at: number, length: number): number {
  buffer[at] = FINAL_TEXT;
  if (length < LENGTH_16) {
    buffer[at + 1] = length;
    return at + 2;
  }
  if (length < 65_536) {
    buffer[at + 1] = LENGTH_16;
    return buffer.writeUInt16BE(length, at + 2);
  }
  buffer[at + 1] = LENGTH_64;
  buffer.writeUInt32BE(Math.floor(length / 2 ** 32), at + 2);
  return buffer.writeUInt32BE(length % 2 ** 32, at + 6);
}
