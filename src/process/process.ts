/**
 * One process: Running -> Exited -> Closed, one counter for its events (seq), one owner. It cuts output into chunks,
 * keeps them in its log, answers reads and decides when the child is paused. It knows nothing of connections; the owner
 * listens to `onEvent` and says through `pause`/`resume` and the log what the client has taken.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { CLOSED_RETENTION_MS, MAX_CHUNK_BYTES, MAX_READ_BYTES } from '../limits.ts';
import { ExecError } from '../protocol/errors.ts';
import { deferred } from '../util/deferred.ts';
import { Ending, type EndReason } from './ending.ts';
import { EventWaiters } from './event-waiters.ts';
import type { Chunk, OutputLog } from './output-log.ts';
import type { ExitStatus, OutputStream, SpawnedChild, SpawnRequest, TerminalSize } from './spawner.ts';
import { StdinQueue } from './stdin.ts';

export type ProcessEvent =
  | { type: 'output'; seq: number; stream: OutputStream; bytes: Uint8Array }
  | { type: 'exited'; seq: number; exit: ProcessExit }
  | { type: 'closed'; seq: number };

export type ProcessExit = {
  exitCode: number;
  signal: string | undefined;
  reason: 'exited' | 'signalled' | EndReason;
};

export type ProcessState =
  | { type: 'running' }
  | { type: 'exited'; exit: ProcessExit }
  | { type: 'closed'; exit: ProcessExit };

/** Who wants the child's output to stop; it flows only while nobody does. */
export type PauseReason = 'congested' | 'unconfirmed' | 'detached' | 'flow';

export type ReadRequest = { afterSeq: number; maxBytes: number | undefined; waitMs: number };

export type ReadResult = {
  chunks: Chunk[];
  nextSeq: number;
  state: ProcessState;
  /** What the log no longer holds; absent while it holds everything. */
  lost: { firstSeq: number; bytes: number } | undefined;
};

/** What was asked for, without the environment: it is large, and may hold secrets. */
export type ProcessRequest = Pick<SpawnRequest, 'argv' | 'cwd' | 'stdin' | 'terminal'>;

export type ProcessOptions = {
  id: string;
  child: SpawnedChild;
  request: ProcessRequest;
  log: OutputLog;
  timeoutMs: number | undefined;
  idleTimeoutMs: number | undefined;
  onEvent(process: Process, event: ProcessEvent): void;
};

/** What a terminal takes for the end of its input: ^D. */
const TERMINAL_END_OF_FILE = new Uint8Array([4]);

export class Process {
  readonly id: string;
  readonly request: ProcessRequest;
  readonly startedAtMs = Date.now();
  readonly log: OutputLog;
  readonly #child: SpawnedChild;
  readonly #ending: Ending;
  readonly #stdin: StdinQueue | undefined;
  readonly #onEvent: ProcessOptions['onEvent'];
  readonly #paused = new Set<PauseReason>();
  readonly #waiters = new EventWaiters();
  #state: ProcessState = { type: 'running' };
  #nextSeq = 1;
  readonly #closed = deferred();
  #ended = false;
  #retention: NodeJS.Timeout | undefined;

  constructor({ id, child, request, log, timeoutMs, idleTimeoutMs, onEvent }: ProcessOptions) {
    this.id = id;
    this.request = request;
    this.log = log;
    this.#child = child;
    this.#ending = new Ending({ child, timeoutMs, idleTimeoutMs, isPaused: () => this.#paused.size > 0 });
    this.#stdin = request.terminal || request.stdin === 'pipe' ? new StdinQueue(child) : undefined;
    this.#onEvent = onEvent;
  }

  get pid(): number {
    return this.#child.pid;
  }

  get state(): ProcessState {
    return this.#state;
  }

  /** The number the next event will get. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** Resolves after the `closed` event. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Lets events flow; called once the start was answered, so that no event can precede the answer. */
  begin(): void {
    this.#child.begin({
      output: (stream, bytes) => this.#output(stream, bytes),
      exited: (status) => this.#exited(status),
      ended: () => {
        this.#ended = true;
        this.#closeIfDone();
      },
    });
  }

  pause(reason: PauseReason): void {
    if (this.#paused.size === 0) this.#child.pause();
    this.#paused.add(reason);
  }

  resume(reason: PauseReason): void {
    if (this.#paused.delete(reason) && this.#paused.size === 0) this.#child.resume();
  }

  /** Long poll. `onWait` is called once if the answer is not there yet. */
  async read(request: ReadRequest, signal: AbortSignal, onWait: () => void): Promise<ReadResult> {
    const deadline = performance.now() + request.waitMs;
    for (let waited = false; ; ) {
      const seenSeq = this.#nextSeq;
      const result = await this.#readNow(request);
      const remainingMs = deadline - performance.now();
      if (isAnswer(result, request) || remainingMs <= 0) return result;
      if (seenSeq !== this.#nextSeq) continue; // Something happened while the log was read.
      if (!waited) onWait();
      waited = true;
      await this.#waiters.next(request.afterSeq, remainingMs, signal);
    }
  }

  /** Queued or written; waits when the queue is full, after calling `onWait`. */
  async write(writeId: string, bytes: Uint8Array, onWait: () => void): Promise<'accepted' | 'stdinClosed'> {
    if (!this.#stdin) return 'stdinClosed';
    this.#ending.active();
    const accepted = this.#stdin.write(writeId, bytes);
    if (accepted instanceof Promise) onWait();
    return accepted;
  }

  signal(name: NodeJS.Signals): void {
    if (this.#state.type === 'running') this.#child.signal(name);
  }

  /** End of file after what was written before. A process without stdin has had it from the start. */
  async closeStdin(onWait: () => void): Promise<void> {
    if (this.request.terminal) await this.write(randomUUID(), TERMINAL_END_OF_FILE, onWait);
    else this.#stdin?.closeStdin();
  }

  resize(size: TerminalSize): void {
    if (!this.request.terminal) throw new ExecError('invalidParams', `process ${this.id} has no terminal to resize`);
    if (this.#state.type === 'running') this.#child.resize(size);
  }

  /**
   * Ends the group: at once, without reading what is left, or politely within `graceMs`. False when the process had
   * exited already.
   */
  terminate(graceMs?: number): boolean {
    if (this.#state.type !== 'running') return false;
    if (graceMs === undefined) this.#end();
    else this.#ending.terminate(graceMs);
    return true;
  }

  /** Ends whatever is left of it: also descendants that outlived the child and still hold its streams. */
  dispose(): void {
    clearTimeout(this.#retention);
    if (this.#state.type !== 'closed') this.#end();
  }

  /** Calls `expired` once the process has been closed for the retention time. */
  startRetention(expired: () => void, retentionMs = CLOSED_RETENTION_MS): void {
    clearTimeout(this.#retention);
    this.#retention = setTimeout(expired, retentionMs).unref();
  }

  stopRetention(): void {
    clearTimeout(this.#retention);
  }

  #end(): void {
    this.#stdin?.fail();
    this.#ending.terminateAtOnce();
  }

  #output(stream: OutputStream, read: Uint8Array): void {
    this.#ending.active();
    const bytes = withoutSpareRoom(read);
    for (let start = 0; start < bytes.length; start += MAX_CHUNK_BYTES) {
      const chunk = bytes.subarray(start, start + MAX_CHUNK_BYTES);
      const seq = this.#nextSeq++;
      this.log.append(seq, stream, chunk);
      this.#emit({ type: 'output', seq, stream, bytes: chunk });
    }
  }

  #exited(status: ExitStatus): void {
    const exit: ProcessExit = {
      exitCode: exitCodeOf(status, this.request.terminal !== undefined),
      signal: status.signal ?? undefined,
      reason: this.#ending.reason ?? (status.signal === null ? 'exited' : 'signalled'),
    };
    this.#state = { type: 'exited', exit };
    this.#ending.exited();
    this.#stdin?.childGone();
    this.#emit({ type: 'exited', seq: this.#nextSeq++, exit });
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (!this.#ended || this.#state.type !== 'exited') return;
    this.#ending.closed();
    this.#state = { type: 'closed', exit: this.#state.exit };
    this.#emit({ type: 'closed', seq: this.#nextSeq++ });
    this.#closed.resolve();
  }

  #emit(event: ProcessEvent): void {
    this.#waiters.happened(event.seq, event.type === 'closed');
    this.#onEvent(this, event);
  }

  async #readNow({ afterSeq, maxBytes }: ReadRequest): Promise<ReadResult> {
    // Taken before the read, so that nothing is announced as seen that the read could not give.
    const nextSeq = this.#nextSeq;
    const state = this.#state;
    const limit = Math.min(maxBytes ?? MAX_READ_BYTES, MAX_READ_BYTES);
    const chunks = (await this.log.read(afterSeq, limit)).filter((chunk) => chunk.seq < nextSeq);
    const last = chunks.at(-1);
    const isCut = maxBytes !== undefined || (last !== undefined && (await this.#holdsMore(last.seq, nextSeq)));
    const { lostBytes, firstSeq } = this.log;
    return {
      chunks,
      nextSeq: isCut && last ? last.seq + 1 : nextSeq,
      state,
      lost: lostBytes > 0 ? { firstSeq: firstSeq ?? nextSeq, bytes: lostBytes } : undefined,
    };
  }

  async #holdsMore(afterSeq: number, beforeSeq: number): Promise<boolean> {
    const [next] = await this.log.read(afterSeq, 1);
    return next !== undefined && next.seq < beforeSeq;
  }
}

/** The log keeps views of what was read; a small one of a large buffer would keep all of it in memory. */
function withoutSpareRoom(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength * 2 < bytes.buffer.byteLength ? new Uint8Array(bytes) : bytes;
}

/** The reference's rule: output, the end, or an exit the reader has not seen yet. */
function isAnswer({ chunks, nextSeq, state }: ReadResult, { afterSeq }: ReadRequest): boolean {
  return chunks.length > 0 || state.type === 'closed' || (state.type === 'exited' && afterSeq < nextSeq - 1);
}

/** Pipes report 128 + signal; a terminal reports 1 for any death by signal, as the reference does. */
function exitCodeOf({ code, signal }: ExitStatus, tty: boolean): number {
  if (code !== null) return code;
  if (signal === null) return -1;
  if (tty) return 1;
  const number = Object.entries(constants.signals).find(([name]) => name === signal)?.[1];
  // Signals without a name (the real-time ones) are spelled by their number.
  return 128 + (number ?? Number(/^SIG(\d+)$/.exec(signal)?.[1] ?? 0));
}
