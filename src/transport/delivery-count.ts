/** Counts messages out and messages arrived, in order, for those who wait until all they sent has arrived. */
import { type Deferred, deferred } from '../util/deferred.ts';

export class DeliveryCount {
  #waiting: { sent: number; answer: Deferred<boolean> }[] = [];
  #sent = 0;
  #arrived = 0;
  #ended: boolean = false;

  sent(): void {
    this.#sent += 1;
  }

  /** The oldest message that had not arrived has. */
  arrived(): void {
    this.#arrived += 1;
    while (this.#waiting[0] !== undefined && this.#waiting[0].sent <= this.#arrived) {
      this.#waiting.shift()?.answer.resolve(true);
    }
  }

  /** Whether anything sent has not arrived. */
  get pending(): boolean {
    return this.#arrived < this.#sent;
  }

  /** True when everything sent so far has arrived, false when the end comes first. */
  confirm(): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    if (!this.pending) return Promise.resolve(true);
    const answer = deferred<boolean>();
    this.#waiting.push({ sent: this.#sent, answer });
    return answer.promise;
  }

  end(): void {
    this.#ended = true;
    for (const { answer } of this.#waiting.splice(0)) answer.resolve(false);
  }
}
