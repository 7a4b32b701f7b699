/**
 * A real spawner whose answers can be held back, so that a test can look at a start that is not finished. The child
 * exists already while its answer is held; what becomes of it is written down.
 */

import { createSpawner } from '../../src/process/choose-spawner.ts';
import type { ExitStatus, SpawnedChild, Spawner, SpawnRequest } from '../../src/process/spawner.ts';
import { type Deferred, deferred } from '../../src/util/deferred.ts';
import { TEST_SPAWNER } from '../support/spawner.ts';

/** `child` is absent when the operating system refused. */
export type Attempt = { request: SpawnRequest; child: ObservedChild | undefined };

export type Hold = Disposable & { release(): void };

export class ObservedChild {
  readonly pid: number;
  /** Whether the server has killed it. */
  killed = false;
  readonly #exited = deferred<ExitStatus>();

  constructor(child: SpawnedChild) {
    this.pid = child.pid;
    const begin = child.begin.bind(child);
    const kill = child.kill.bind(child);
    child.begin = (events) =>
      begin({
        ...events,
        exited: (status) => {
          this.#exited.resolve(status);
          events.exited(status);
        },
      });
    child.kill = () => {
      this.killed = true;
      kill();
    };
  }

  get exited(): Promise<ExitStatus> {
    return this.#exited.promise;
  }
}

export class HeldSpawner implements Spawner {
  readonly name = 'portable';
  /** Every request, in the order they came. */
  readonly requests: SpawnRequest[] = [];
  readonly #real = createSpawner(TEST_SPAWNER);
  readonly #attempts: Deferred<Attempt>[] = [];
  #gate = Promise.resolve();

  /** Answers are held back from now until the release. */
  hold(): Hold {
    const gate = deferred();
    this.#gate = gate.promise;
    return { release: gate.resolve, [Symbol.dispose]: gate.resolve };
  }

  /** The given spawn (from 0), once the operating system has answered; the server may still be waiting for it. */
  attempt(index: number): Promise<Attempt> {
    return this.#attempt(index).promise;
  }

  /** The child of that spawn; fails when there is none. */
  async child(index: number): Promise<ObservedChild> {
    const { child } = await this.attempt(index);
    if (!child) throw new Error(`spawn ${index} was refused`);
    return child;
  }

  async spawn(request: SpawnRequest): Promise<SpawnedChild> {
    const gate = this.#gate;
    const attempt = this.#attempt(this.requests.length);
    this.requests.push(request);
    try {
      const child = await this.#real.spawn(request);
      attempt.resolve({ request, child: new ObservedChild(child) });
      return child;
    } catch (error) {
      attempt.resolve({ request, child: undefined });
      throw error;
    } finally {
      await gate;
    }
  }

  #attempt(index: number): Deferred<Attempt> {
    const attempt = this.#attempts[index] ?? deferred<Attempt>();
    this.#attempts[index] = attempt;
    return attempt;
  }
}
