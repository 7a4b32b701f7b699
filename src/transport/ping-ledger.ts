/**
 * Which pings were answered, and so what the peer has read: a pong speaks for everything sent before its ping. Pings
 * carry a counter; a peer may answer only the latest of several. Sends nothing itself.
 */
import { type Deferred, deferred } from '../util/deferred.ts';

type OpenPing = { counter: number; sentBytes: number; answer: Deferred<boolean> | undefined };

export class PingLedger {
  #open: OpenPing[] = [];
  #counter = 0;
  #readBytes = 0;

  /** Notes a ping that follows `sentBytes` of messages and returns its payload. */
  issue(sentBytes: number): string {
    return this.#add(sentBytes, undefined);
  }

  /** The same, for someone who waits for the answer: true when it came, false when the connection ended first. */
  issueAwaited(sentBytes: number): { payload: string; answered: Promise<boolean> } {
    const answer = deferred<boolean>();
    return { payload: this.#add(sentBytes, answer), answered: answer.promise };
  }

  /** Takes a pong. Payloads that answer no open ping are ignored: anybody may send any pong at any time. */
  pong(payload: string): void {
    const counter = /^[0-9]{1,15}$/.test(payload) ? Number(payload) : 0;
    if (counter > this.#counter) return;
    while (this.#open[0] !== undefined && this.#open[0].counter <= counter) {
      const ping = this.#open.shift();
      this.#readBytes = ping?.sentBytes ?? this.#readBytes;
      ping?.answer?.resolve(true);
    }
  }

  /** How much of the `sentBytes` sent so far the peer is not known to have read. */
  unreadBytes(sentBytes: number): number {
    return sentBytes - this.#readBytes;
  }

  /** The connection is over: no answer will come. */
  end(): void {
    for (const ping of this.#open.splice(0)) ping.answer?.resolve(false);
  }

  #add(sentBytes: number, answer: Deferred<boolean> | undefined): string {
    this.#counter += 1;
    this.#open.push({ counter: this.#counter, sentBytes, answer });
    return String(this.#counter);
  }
}
