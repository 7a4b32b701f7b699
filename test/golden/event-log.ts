/**
 * The events of one process by sequence number, once as recorded and once as seen. Two runs cut output into chunks
 * differently and see the exit a little earlier or later, so positions of one log are found in the other by what has
 * happened up to them, not by number.
 */
export type ProcessEvent =
  | { type: 'output'; stream: string; bytes: string }
  | { type: 'exited'; exitCode: number; sandboxDenied: boolean; signal: string; reason: string }
  | { type: 'closed' };

export class EventLog {
  readonly #events = new Map<number, ProcessEvent>();
  #closedSeq: number | undefined;
  #exit: ProcessEvent | undefined;

  /** One event may be told twice (notification and read) but must then be the same. */
  add(seq: number, event: ProcessEvent): void {
    const known = this.#events.get(seq);
    if (known && JSON.stringify(known) !== JSON.stringify(event)) {
      throw new Error(`seq ${seq} was ${brief(known)} and is now ${brief(event)}`);
    }
    if (this.#closedSeq !== undefined && seq > this.#closedSeq) throw new Error(`seq ${seq} comes after closed`);
    if (event.type === 'closed') this.#closedSeq = seq;
    if (event.type === 'exited') this.#exit = event;
    this.#events.set(seq, event);
  }

  get(seq: number): ProcessEvent | undefined {
    return this.#events.get(seq);
  }

  get isEmpty(): boolean {
    return this.#events.size === 0;
  }

  get closedSeq(): number | undefined {
    return this.#closedSeq;
  }

  get exit(): ProcessEvent | undefined {
    return this.#exit;
  }

  /** Sequence numbers of output, in order. */
  get outputSeqs(): number[] {
    return this.#ordered()
      .filter(([, event]) => event.type === 'output')
      .map(([seq]) => seq);
  }

  /** All output joined, by stream, the streams in a fixed order. */
  output(): Map<string, string> {
    const joined = new Map<string, string>();
    for (const [, event] of this.#ordered()) {
      if (event.type === 'output') joined.set(event.stream, (joined.get(event.stream) ?? '') + event.bytes);
    }
    return new Map([...joined].sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  /** What has happened up to and including `seq`; undefined unless every event to there is known. */
  stateAt(seq: number): string | undefined {
    const sizes = new Map<string, number>();
    let exited = false;
    let closed = false;
    for (let at = 1; at <= seq; at += 1) {
      const event = this.#events.get(at);
      if (!event) return undefined;
      if (event.type === 'output') sizes.set(event.stream, (sizes.get(event.stream) ?? 0) + event.bytes.length);
      exited ||= event.type === 'exited';
      closed ||= event.type === 'closed';
    }
    return JSON.stringify([[...sizes].sort(), exited, closed]);
  }

  /** The seq at which this log had come as far as `other` at its `seq`; undefined when it never was just there. */
  seqLike(other: EventLog, seq: number): number | undefined {
    if (seq === other.closedSeq) return this.closedSeq; // Nothing can come after it, however long the output was.
    const state = other.stateAt(seq);
    if (state === undefined) return seq;
    for (let at = 0; ; at += 1) {
      const reached = this.stateAt(at);
      if (reached === undefined) return undefined;
      if (reached === state) return at;
    }
  }

  #ordered(): [number, ProcessEvent][] {
    return [...this.#events].sort(([left], [right]) => left - right);
  }
}

function brief(event: ProcessEvent): string {
  return event.type === 'output' ? `${event.bytes.length} bytes of ${event.stream}` : JSON.stringify(event);
}
