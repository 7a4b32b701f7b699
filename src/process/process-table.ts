/**
 * The processes of one owner by id: starting, live, or closed and still readable. A failed or cancelled start frees its
 * id; a start in flight when the table ends is ended as soon as it exists.
 */
import { ExecError } from '../protocol/errors.ts';
import { deferred } from '../util/deferred.ts';
import type { Process } from './process.ts';

type Entry = { type: 'starting'; done: Promise<unknown>; cancel(): void } | { type: 'live'; process: Process };

export class ProcessTable {
  readonly #entries = new Map<string, Entry>();
  readonly #maxProcesses: number;
  #ended = false;

  constructor(maxProcesses: number) {
    this.#maxProcesses = maxProcesses;
  }

  /** Reserves the id, runs `spawn`, and keeps what it gave; `spawn` failing or a cancel frees the id again. */
  async start(id: string, spawn: () => Promise<Process>): Promise<Process> {
    if (this.#ended) throw new ExecError('invalidRequest', `process ${id} start was cancelled`);
    if (this.#entries.has(id)) throw new ExecError('invalidRequest', `process ${id} already exists`);
    if (this.#entries.size >= this.#maxProcesses) {
      throw new ExecError(
        'internal',
        `process limit reached (${this.#maxProcesses} per session); end some, or start the server with a higher --max-processes`,
      );
    }
    let cancelled = false;
    const done = deferred();
    const entry: Entry = {
      type: 'starting',
      done: done.promise,
      cancel: () => {
        cancelled = true;
      },
    };
    this.#entries.set(id, entry);
    try {
      const process = await spawn();
      if (cancelled) {
        process.begin(); // Its exit must still be collected.
        process.dispose();
        await process.closed;
        throw new ExecError('invalidRequest', `process ${id} start was cancelled`);
      }
      this.#entries.set(id, { type: 'live', process });
      return process;
    } catch (error) {
      if (this.#entries.get(id) === entry) this.#entries.delete(id);
      throw error;
    } finally {
      done.resolve();
    }
  }

  /** The entry's process, `starting`, or undefined when the id is free. */
  find(id: string): Process | 'starting' | undefined {
    const entry = this.#entries.get(id);
    return entry?.type === 'live' ? entry.process : entry?.type;
  }

  /** Makes a start in flight fail with "start was cancelled"; its child, if any, is ended. */
  cancelStart(id: string): void {
    const entry = this.#entries.get(id);
    if (entry?.type === 'starting') entry.cancel();
  }

  /** Frees the id if it is still this process's. */
  delete(process: Process): void {
    if (this.find(process.id) === process) this.#entries.delete(process.id);
  }

  *live(): Iterable<Process> {
    for (const entry of this.#entries.values()) if (entry.type === 'live') yield entry.process;
  }

  /** Ends every process and every start in flight; the table takes no more. Resolves when all are closed. */
  async end(): Promise<void> {
    this.#ended = true;
    const endings = [...this.#entries.values()].map((entry) => {
      if (entry.type === 'starting') {
        entry.cancel();
        return entry.done;
      }
      entry.process.dispose();
      return entry.process.closed;
    });
    await Promise.all(endings);
  }
}
