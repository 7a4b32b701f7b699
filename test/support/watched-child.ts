/** A child of any spawner with everything it did written down, for tests. */
import { readFileSync } from 'node:fs';
import type { ExitStatus, OutputStream, SpawnedChild, Spawner, SpawnRequest } from '../../src/process/spawner.ts';
import { deferred } from '../../src/util/deferred.ts';

/** The PATH children get unless a test says otherwise. */
export const TEST_PATH = '/usr/local/bin:/usr/bin:/bin';

export function requestFor(argv: string[], rest: Partial<SpawnRequest> = {}): SpawnRequest {
  const plain = { arg0: undefined, cwd: '/tmp', env: { PATH: TEST_PATH }, stdin: 'none', terminal: undefined } as const;
  return { argv, ...plain, ...rest };
}

/** False once it is dead, collected or not. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export async function untilDead(pid: number): Promise<void> {
  while (isRunning(pid)) await new Promise((resolve) => setImmediate(resolve));
}

export class WatchedChild implements AsyncDisposable {
  readonly child: SpawnedChild;
  /** `output`, `exited` and `ended` in the order they came. */
  readonly order: string[] = [];
  readonly #chunks: { stream: OutputStream; bytes: Uint8Array }[] = [];
  readonly #exited = deferred<ExitStatus>();
  readonly #ended = deferred();
  readonly #waiting = new Set<() => void>();
  onOutput: (() => void) | undefined;

  constructor(child: SpawnedChild) {
    this.child = child;
  }

  static async start(spawner: Spawner, argv: string[], rest: Partial<SpawnRequest> = {}): Promise<WatchedChild> {
    const watched = new WatchedChild(await spawner.spawn(requestFor(argv, rest)));
    watched.begin();
    return watched;
  }

  begin(): void {
    this.child.begin({
      output: (stream, bytes) => {
        this.order.push('output');
        this.#chunks.push({ stream, bytes });
        this.onOutput?.();
        for (const check of this.#waiting) check();
      },
      exited: (status) => {
        this.order.push('exited');
        this.#exited.resolve(status);
      },
      ended: () => {
        this.order.push('ended');
        this.#ended.resolve();
      },
    });
  }

  get exited(): Promise<ExitStatus> {
    return this.#exited.promise;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get chunkSizes(): number[] {
    return this.#chunks.map(({ bytes }) => bytes.byteLength);
  }

  bytes(stream?: OutputStream): Buffer {
    return Buffer.concat(
      this.#chunks.filter((chunk) => stream === undefined || chunk.stream === stream).map(({ bytes }) => bytes),
    );
  }

  text(stream?: OutputStream): string {
    return this.bytes(stream).toString();
  }

  /** Resolves when the output so far fits. */
  async until(pattern: RegExp): Promise<RegExpMatchArray> {
    for (;;) {
      const found = this.text().match(pattern);
      if (found) return found;
      await new Promise<void>((resolve) => {
        const check = (): void => {
          this.#waiting.delete(check);
          resolve();
        };
        this.#waiting.add(check);
      });
    }
  }

  /** Resolves with the status after the exit and the end of all output. */
  async finished(): Promise<ExitStatus> {
    await this.#ended.promise;
    return this.#exited.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill();
    await this.finished();
  }
}
