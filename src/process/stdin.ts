/**
 * The stdin of one process: writes are taken first in first out, each exactly once, and at most so many wait inside.
 * A resent write is recognised by its id and not written again. Knows nothing of connections; whoever asks for a write
 * that has to wait gets a promise.
 */
import { createHash } from 'node:crypto';
import { MAX_QUEUED_WRITE_BYTES, MAX_QUEUED_WRITES, MAX_REMEMBERED_WRITE_IDS } from '../limits.ts';
import { ExecError } from '../protocol/errors.ts';
import { type Deferred, deferred } from '../util/deferred.ts';
import type { SpawnedChild } from './spawner.ts';

export type StdinLimits = { queuedWrites: number; queuedBytes: number; rememberedIds: number };

const LIMITS: StdinLimits = {
  queuedWrites: MAX_QUEUED_WRITES,
  queuedBytes: MAX_QUEUED_WRITE_BYTES,
  rememberedIds: MAX_REMEMBERED_WRITE_IDS,
};

/** Ids longer than this are remembered by their hash: thousands are kept, and a peer chooses their length. */
const LONGEST_PLAIN_ID = 128;

type Waiting = { key: string; bytes: Uint8Array; accepted: Deferred<'accepted'> };

/**
 * open: writes are queued. closing: the end of file follows the last of them. closed: it was sent. gone: the child can
 * take nothing any more. failed: the process was terminated.
 */
type State = 'open' | 'closing' | 'closed' | 'gone' | 'failed';

export class StdinQueue {
  readonly #child: Pick<SpawnedChild, 'write' | 'closeStdin'>;
  readonly #limits: StdinLimits;
  /** Accepted and not yet taken by the child; the first is being written. */
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  /** Asked for and not yet accepted. */
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  readonly #waitingByKey = new Map<string, Promise<'accepted'>>();
  /** In the order of acceptance. */
  readonly #remembered = new Set<string>();
  #state: State = 'open';
  #writing = false;

  constructor(child: Pick<SpawnedChild, 'write' | 'closeStdin'>, limits = LIMITS) {
    this.#child = child;
    this.#limits = limits;
  }

  get queuedWrites(): number {
    return this.#queue.length;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** Bytes of the writes that wait for room. Nothing here bounds them: whoever lets callers wait has to. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /**
   * `accepted` at once while there is room, or a promise of it. A write whose id is known is accepted with the first
   * one of that id and not written again. Throws once the process was terminated, and rejects what waited until then.
   */
  write(writeId: string, bytes: Uint8Array): 'accepted' | Promise<'accepted'> {
    const key = keyOf(writeId);
    if (this.#remembered.has(key)) return 'accepted';
    const sameWaiting = this.#waitingByKey.get(key);
    if (sameWaiting !== undefined) return sameWaiting;
    if (this.#state === 'failed') throw failure();
    if (this.#state !== 'open') {
      this.#remember(key); // Nobody will read these bytes; a peer that cannot know it is told the same as before.
      return 'accepted';
    }
    if (this.#waiting.length === 0 && this.#hasRoom()) {
      this.#accept(key, bytes);
      this.#pump();
      return 'accepted';
    }
    return this.#wait(key, bytes);
  }

  /** End of file after everything that was written before; bytes that come later are accepted and dropped. */
  closeStdin(): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#pump();
  }

  /** The child exited: what is queued is dropped, what waits and what comes is accepted and dropped. */
  childGone(): void {
    if (this.#state === 'failed') return;
    this.#state = 'gone';
    this.#dropQueue();
    for (const { key, accepted } of this.#takeAllWaiting()) {
      this.#remember(key);
      accepted.resolve('accepted');
    }
  }

  /** The process was terminated: what is queued is dropped, what waits and what is new fails. */
  fail(): void {
    this.#state = 'failed';
    this.#dropQueue();
    for (const { accepted } of this.#takeAllWaiting()) accepted.reject(failure());
  }

  #hasRoom(): boolean {
    // The last write may exceed the bytes, so that any single one fits.
    return this.#queue.length < this.#limits.queuedWrites && this.#queuedBytes < this.#limits.queuedBytes;
  }

  #accept(key: string, bytes: Uint8Array): void {
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.byteLength;
    this.#remember(key);
  }

  #wait(key: string, bytes: Uint8Array): Promise<'accepted'> {
    const accepted = deferred<'accepted'>();
    this.#waiting.push({ key, bytes, accepted });
    this.#waitingBytes += bytes.byteLength;
    this.#waitingByKey.set(key, accepted.promise);
    return accepted.promise;
  }

  /** One write at a time, so that the order does not depend on the spawner and what is not taken can be dropped. */
  #pump(): void {
    if (this.#writing) return;
    const bytes = this.#queue[0];
    if (bytes) {
      this.#writing = true;
      // `write` never rejects; what follows it is all in the callback.
      void this.#child.write(bytes).then(() => this.#taken());
    } else if (this.#state === 'closing') {
      this.#state = 'closed';
      this.#child.closeStdin();
    }
  }

  #taken(): void {
    this.#writing = false;
    if (this.#state !== 'open' && this.#state !== 'closing') return; // The queue was dropped meanwhile.
    this.#queuedBytes -= this.#queue.shift()?.byteLength ?? 0;
    while (this.#hasRoom()) {
      const next = this.#waiting.shift();
      if (!next) break;
      this.#waitingByKey.delete(next.key);
      this.#waitingBytes -= next.bytes.byteLength;
      this.#accept(next.key, next.bytes);
      next.accepted.resolve('accepted');
    }
    this.#pump();
  }

  #dropQueue(): void {
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  #takeAllWaiting(): Waiting[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#waitingByKey.clear();
    return waiting;
  }

  #remember(key: string): void {
    this.#remembered.add(key);
    if (this.#remembered.size <= this.#limits.rememberedIds) return;
    const [oldest] = this.#remembered;
    if (oldest !== undefined) this.#remembered.delete(oldest);
  }
}

function keyOf(writeId: string): string {
  if (writeId.length <= LONGEST_PLAIN_ID) return writeId;
  return `sha256:${createHash('sha256').update(writeId).digest('hex')}`;
}

function failure(): ExecError {
  return new ExecError('internal', 'failed to write to process stdin');
}
