/** An honest client that asks small questions all the time, and remembers the longest it had to wait. */
import { expect } from 'vitest';
import type { TestClient } from '../../support/client.ts';

/**
 * Longest wait a bystander may see. Generous, because the attacker, the test and the server share the machine; a server
 * that is stuck keeps one waiting for much longer.
 */
const MAX_WAIT_MS = 5_000;
/** Often enough to hit any stall, rarely enough not to be the load itself. */
const ASK_EVERY_MS = 5;

export class Bystander implements AsyncDisposable {
  readonly #client: TestClient;
  readonly #asking: Promise<void>;
  #longestMs = 0;
  #isDone: boolean = false;

  constructor(client: TestClient) {
    this.#client = client;
    this.#asking = this.#ask();
  }

  /** Ends the watch: every question was answered in time, and a command still runs from start to end. */
  async noticedNothing(): Promise<void> {
    this.#isDone = true;
    await this.#asking;
    expect(this.#longestMs).toBeLessThan(MAX_WAIT_MS);
    const id = `bystander ${Math.random()}`;
    expect(await this.#client.run(id, 'echo fine; exit 3')).toMatchObject({ stdout: 'fine\n', exitCode: 3 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDone = true;
    await this.#client.drop();
    await this.#asking;
  }

  async #ask(): Promise<void> {
    while (!this.#isDone) {
      const askedAt = performance.now();
      const isAnswered = await this.#client.request('environment/status').then(
        () => true,
        () => false,
      );
      if (!isAnswered) {
        // Cut off is worse than slow, unless we hung up ourselves.
        if (!this.#isDone) this.#longestMs = Number.POSITIVE_INFINITY;
        return;
      }
      this.#longestMs = Math.max(this.#longestMs, performance.now() - askedAt);
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
  }
}
