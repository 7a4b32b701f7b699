/** One process as a measuring client sees it: when things happened to it, and whether its events came complete. */

// Output that `closed` counts but that did not come before it: the reference sends such.
const STRAGGLER_MS = 1_000;

/** Times are in ms of `performance.now()`; `ended` rejects when an event is missing or came twice. */
export class RunningProcess {
  requestedAt = performance.now();
  startedAt = Number.NaN;
  closedAt = Number.NaN;
  exitCode = undefined;
  bytes = 0;
  /** Called after each piece of output. */
  onOutput = () => {};
  #seen = [];
  #count = 0;
  #lastSeq = Number.POSITIVE_INFINITY;
  #stragglers = undefined;
  #resolve = () => {};
  #reject = () => {};

  constructor(id) {
    this.id = id;
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Who does not wait for the end does not want to hear of it.
    this.ended.catch(() => {});
  }

  takeOutput(seq, bytes) {
    this.bytes += bytes;
    this.#take(seq);
    this.onOutput();
  }

  takeExited({ seq, exitCode }) {
    this.exitCode = exitCode;
    this.#take(seq);
  }

  takeClosed({ seq }) {
    this.closedAt = performance.now();
    this.#lastSeq = seq;
    this.#stragglers = setTimeout(() => {
      this.fail(new Error(`${seq - this.#count} of ${seq} events of ${this.id} are missing`));
    }, STRAGGLER_MS);
    this.#take(seq);
  }

  fail(reason) {
    clearTimeout(this.#stragglers);
    this.#reject(reason);
  }

  // Every event has a number of its own, from 1 to that of `closed`; they need not come in order.
  #take(seq) {
    if (this.#seen[seq]) this.fail(new Error(`event ${seq} of ${this.id} came twice`));
    this.#seen[seq] = true;
    this.#count += 1;
    if (this.#count !== this.#lastSeq) return;
    clearTimeout(this.#stragglers);
    this.#resolve();
  }
}
