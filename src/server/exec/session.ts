/**
 * Owns the processes of one client and outlives its connections. Attached: events are pushed, and a child whose client
 * does not keep up is paused. Detached: output is held (or drained) in the logs until somebody resumes or the grace
 * ends. It never decides how long that is; the registry does.
 */
import { MAX_LISTED_ARGV_CHARS, MAX_UNCONFIRMED_BYTES } from '../../limits.ts';
import { MemoryOutputLog } from '../../process/output-log.ts';
import { Process, type ProcessEvent, type ReadRequest, type ReadResult } from '../../process/process.ts';
import { ProcessTable } from '../../process/process-table.ts';
import type { Spawner, SpawnRequest } from '../../process/spawner.ts';
import type { Connection } from '../../transport/connection.ts';
import type { Log } from '../../util/log.ts';
import { Notifier } from '../notifier.ts';
import { Delivery } from './delivery.ts';

export type SessionSettings = {
  retainBytes: number;
  retainChunks: number;
  /** What happens to output while nobody is attached: kept without loss, or drained into the retained ring. */
  detachedOutput: 'hold' | 'drain';
  maxProcesses: number;
  closedRetentionMs: number;
  confirmTimeoutMs: number;
};

/** After how long the server ends a process by itself. */
export type Timeouts = { timeoutMs: number | undefined; idleTimeoutMs: number | undefined };

type Attachment = { connection: Connection; notifier: Notifier; delivery: Delivery; silent: boolean };

/** For lists only, so a long command line is cut: there may be a thousand of them, of megabytes each. */
function shortened(argv: readonly string[]): string[] {
  let left = MAX_LISTED_ARGV_CHARS;
  return argv.flatMap((argument) => {
    if (left <= 0) return [];
    const room = left;
    left -= argument.length + 1;
    return argument.length <= room ? [argument] : [`${Buffer.from(argument.slice(0, room)).toString()}…`];
  });
}

export class Session {
  readonly id: string;
  readonly #settings: SessionSettings;
  readonly #spawner: Spawner;
  readonly #log: Log;
  readonly #processes: ProcessTable;
  /** While detached: how many unconfirmed bytes each process may hold before it is paused. */
  readonly #allowance = new WeakMap<Process, number>();
  /** Made once: one made in `start` would keep the whole request, its environment too, as long as the process. */
  readonly #listener = (process: Process, event: ProcessEvent): void => this.#onEvent(process, event);
  #attachment: Attachment | undefined;

  constructor(id: string, settings: SessionSettings, spawner: Spawner, log: Log) {
    this.id = id;
    this.#settings = settings;
    this.#spawner = spawner;
    this.#log = log;
    this.#processes = new ProcessTable(settings.maxProcesses);
  }

  /** The connection that gets this session's events, if any. */
  get connection(): Connection | undefined {
    return this.#attachment?.connection;
  }

  attach(connection: Connection): void {
    const attachment: Attachment = {
      connection,
      notifier: new Notifier(connection),
      delivery: new Delivery(connection, {
        timeoutMs: this.#settings.confirmTimeoutMs,
        confirmed: (process, seq) => this.confirm(process, seq),
        silent: (isSilent) => this.#setSilent(attachment, isSilent),
      }),
      silent: false,
    };
    this.#attachment = attachment;
    for (const process of this.#processes.live()) {
      process.log.mode = this.#outputMode;
      const { confirmedSeq } = process.log;
      if (confirmedSeq < process.nextSeq - 1) attachment.delivery.openGap(process, confirmedSeq, process.nextSeq - 1);
      process.resume('detached');
      this.#regulate(process);
      if (process.state.type === 'closed') this.#startRetention(process);
    }
  }

  /** Does nothing unless this very connection is the attached one. */
  detach(connection: Connection): void {
    const attachment = this.#attachment;
    if (attachment?.connection !== connection) return;
    this.#attachment = undefined;
    attachment.delivery.end();
    attachment.notifier.release();
    for (const process of this.#processes.live()) {
      process.stopRetention(); // The client may come for it as long as the session lives.
      process.resume('unconfirmed');
      process.resume('flow'); // Whoever asked for it is gone.
      process.log.mode = this.#outputMode;
      this.#allowance.set(process, process.log.unconfirmedBytes + this.#settings.retainBytes);
    }
  }

  async start(id: string, request: SpawnRequest, timeouts: Timeouts): Promise<Process> {
    return await this.#processes.start(id, async () => {
      const child = await this.#spawner.spawn(request);
      const { argv, cwd, stdin, terminal } = request;
      return new Process({
        id,
        child,
        request: { argv: shortened(argv), cwd, stdin, terminal },
        ...timeouts,
        log: this.#openLog(id),
        onEvent: this.#listener,
      });
    });
  }

  processes(): Iterable<Process> {
    return this.#processes.live();
  }

  find(id: string): Process | 'starting' | undefined {
    return this.#processes.find(id);
  }

  cancelStart(id: string): void {
    this.#processes.cancelStart(id);
  }

  /** Reads for the attached client and takes note of what it has seen. */
  async read(process: Process, request: ReadRequest, signal: AbortSignal, onWait: () => void): Promise<ReadResult> {
    // Asking for what follows a number says that all up to it was seen.
    if (request.afterSeq < process.nextSeq) this.confirm(process, request.afterSeq);
    const result = await process.read(request, signal, onWait);
    const bytes = result.chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0);
    this.#attachment?.delivery.answered(process, result.nextSeq - 1, bytes);
    return result;
  }

  /** The client has read this process's events up to `seq`. */
  confirm(process: Process, seq: number): void {
    process.log.confirm(seq);
    this.#regulate(process);
  }

  /** Ends every process; resolves when all are closed. Their last events still reach the attached connection. */
  async end(): Promise<void> {
    await this.#processes.end();
    for (const process of this.#processes.live()) process.stopRetention();
  }

  #openLog(id: string): MemoryOutputLog {
    let warned = false;
    const { retainBytes, retainChunks } = this.#settings;
    const log = new MemoryOutputLog({
      retainBytes,
      retainChunks,
      onEvicted: () => {
        if (warned) return; // Once per process: a flood would drown everything else.
        warned = true;
        this.#log.warn(`retained output cap exceeded for process ${id}; dropping oldest output`, { session: this.id });
      },
    });
    log.mode = this.#outputMode;
    return log;
  }

  get #outputMode(): 'hold' | 'drain' {
    if (!this.#attachment) return this.#settings.detachedOutput;
    return this.#attachment.silent ? 'drain' : 'hold';
  }

  #onEvent(process: Process, event: ProcessEvent): void {
    if (this.#processes.find(process.id) !== process) return; // Its start was cancelled: nobody knows of it.
    const attachment = this.#attachment;
    if (attachment) {
      const bytes = attachment.notifier.push(process, event);
      attachment.delivery.pushed(process, event.seq, bytes);
      if (event.type === 'closed') this.#startRetention(process);
    }
    if (event.type === 'output') this.#regulate(process);
  }

  /** Pauses or resumes the child by what its client has confirmed. */
  #regulate(process: Process): void {
    const { unconfirmedBytes, heldChunks, mode } = process.log;
    const manyChunks = heldChunks > 2 * this.#settings.retainChunks;
    if (mode === 'drain') return;
    if (!this.#attachment) {
      const allowance = this.#allowance.get(process) ?? this.#settings.retainBytes;
      if (unconfirmedBytes >= allowance || manyChunks) process.pause('detached');
    } else if (unconfirmedBytes > MAX_UNCONFIRMED_BYTES || manyChunks) {
      process.pause('unconfirmed');
    } else if (unconfirmedBytes <= MAX_UNCONFIRMED_BYTES / 2) {
      process.resume('unconfirmed');
    }
  }

  #setSilent(attachment: Attachment, silent: boolean): void {
    attachment.silent = silent;
    if (silent) this.#log.warn('client confirms nothing; output is no longer held for it', { session: this.id });
    for (const process of this.#processes.live()) {
      process.log.mode = this.#outputMode;
      if (silent) process.resume('unconfirmed');
    }
  }

  #startRetention(process: Process): void {
    process.startRetention(() => {
      this.#processes.delete(process);
      this.#attachment?.delivery.forget(process);
    }, this.#settings.closedRetentionMs);
  }
}
