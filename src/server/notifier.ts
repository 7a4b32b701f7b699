/**
 * Turns the events of processes into notifications on one connection, in the order they happen. While the connection is
 * congested it pauses the processes that feed it, so nothing is dropped and nothing piles up. It ends with the
 * connection; who is attached is the session's business.
 */
import type { Process, ProcessEvent, ProcessExit } from '../process/process.ts';
import type { Connection } from '../transport/connection.ts';
import { encodeNotification, OutputEncoder } from '../wire/encode.ts';

/** What we add to an exit, left out where there is nothing to say, so that an ordinary one is the reference's. */
export function exitDetails({ signal, reason }: ProcessExit): { signal?: string; reason?: ProcessExit['reason'] } {
  return { ...(signal !== undefined && { signal }), ...(reason !== 'exited' && { reason }) };
}

export class Notifier {
  readonly #connection: Connection;
  readonly #encoders = new WeakMap<Process, OutputEncoder>();
  readonly #congested = new Set<Process>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Sends the event; returns how many bytes that took. */
  push(process: Process, event: ProcessEvent): number {
    const frame = this.#encode(process, event);
    this.#connection.send(frame);
    if (event.type === 'output' && this.#connection.congested) this.#hold(process);
    return frame.length;
  }

  /** Lets go of every process it paused. */
  release(): void {
    for (const process of this.#congested) process.resume('congested');
    this.#congested.clear();
  }

  #encode(process: Process, event: ProcessEvent): string | Uint8Array {
    const { seq } = event;
    switch (event.type) {
      case 'output': {
        let encoder = this.#encoders.get(process);
        if (!encoder) {
          encoder = new OutputEncoder(process.id);
          this.#encoders.set(process, encoder);
        }
        return encoder.encode(seq, event.stream, event.bytes);
      }
      case 'exited':
        return encodeNotification('process/exited', {
          processId: process.id,
          seq,
          exitCode: event.exit.exitCode,
          sandboxDenied: false,
          ...exitDetails(event.exit),
        });
      case 'closed':
        return encodeNotification('process/closed', { processId: process.id, seq });
    }
  }

  #hold(process: Process): void {
    if (this.#congested.has(process)) return;
    process.pause('congested');
    this.#congested.add(process);
    if (this.#congested.size > 1) return; // Somebody waits already, for all.
    void this.#connection.drained().then(() => this.release()); // `drained` never rejects.
  }
}
