/**
 * The built command as a process of its own, seen from outside: its memory, descriptors, children and CPU as the system
 * counts them. It stops with SIGTERM and fails the test when the server did not end well or had something to confess.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { expect } from 'vitest';
import { dialWebSocket } from '../../../src/transport/index.ts';
import { TestClient } from '../../support/client.ts';
import { TEST_SPAWNER } from '../../support/spawner.ts';
import { childrenOf, cpuMs, descriptorCount, peakGrowth, residentBytes } from './proc.ts';
import { until } from './until.ts';

export const MIB = 1024 * 1024;
export const CLI = join(import.meta.dirname, '../../../dist/cli.cjs');

/** What the log says only when something happened that nobody thought of. */
const CONFESSIONS = /unexpected error|failed unexpectedly|connection failed/;

export type StartOptions = {
  /** A shell command that limits the server, e.g. `ulimit -n 64`. */
  limit?: string;
  uid?: number;
  cli?: string;
};

export class ServerProcess implements AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #clients: TestClient[] = [];
  #log = '';
  #idleDescriptors = 0;

  private constructor(child: ChildProcessByStdio<null, Readable, Readable>, url: string) {
    this.#child = child;
    this.url = url;
    this.pid = child.pid ?? 0;
    child.stderr.on('data', (bytes) => {
      this.#log += bytes;
    });
  }

  /** With a short grace, so that what a client leaves behind is soon gone; flags given here win. */
  static async start(flags: readonly string[] = [], options: StartOptions = {}): Promise<ServerProcess> {
    const { limit, uid, cli = CLI } = options;
    const unless = (flag: string, value: string | undefined): string[] =>
      value === undefined || flags.includes(flag) ? [] : [flag, value];
    const grace = unless('--session-grace', '100ms');
    const spawner = unless('--spawner', TEST_SPAWNER);
    const command = [process.execPath, cli, 'serve', ...grace, ...spawner, ...flags];
    const limited = limit === undefined ? command : ['sh', '-c', `${limit} && exec "$0" "$@"`, ...command];
    const [program = '', ...args] = limited;
    const child = spawn(program, args, {
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(uid !== undefined && { uid }),
    });
    const url = await Promise.race([
      once(createInterface({ input: child.stdout }), 'line').then(([line]) => String(line)),
      once(child, 'exit').then(([status]) => Promise.reject(new Error(`the server did not start: status ${status}`))),
    ]);
    const server = new ServerProcess(child, url);
    await server.#warmUp();
    return server;
  }

  /** Everything the server wrote to stderr so far. */
  get log(): string {
    return this.#log;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** A connection that has said nothing yet. */
  async open(): Promise<TestClient> {
    const client = new TestClient(await dialWebSocket(this.url));
    this.#clients.push(client);
    return client;
  }

  async connect(resumeSessionId?: string): Promise<TestClient> {
    return await (await this.open()).initialize(resumeSessionId);
  }

  /** Resolves when another client was served so often: by then the server has been through everything it had to do. */
  async served(times = 5): Promise<void> {
    await using client = await this.connect();
    for (let count = 0; count < times; count += 1) await client.request('environment/status');
  }

  get rss(): number {
    return residentBytes(this.pid);
  }

  async peakGrowth(work: () => Promise<void>): Promise<number> {
    return await peakGrowth(this.pid, work);
  }

  get cpuMs(): number {
    return cpuMs(this.pid);
  }

  get descriptors(): number {
    return descriptorCount(this.pid);
  }

  get children(): number[] {
    return childrenOf(this.pid);
  }

  /** Resolves when the server has no child left and holds no more descriptors than when it was idle. */
  async settled(): Promise<void> {
    await until(
      () => this.children,
      (children) => children.length === 0,
      'the last child to be gone',
    );
    await until(
      () => this.descriptors,
      (count) => count <= this.#idleDescriptors,
      `${this.#idleDescriptors} descriptors`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.drop();
    const closed = once(this.#child, 'close');
    const wasRunning = this.isRunning;
    this.#child.kill();
    const [status, signal] = await closed;
    expect({ wasRunning, status, signal }, this.#log.slice(-2_000)).toEqual({
      wasRunning: true,
      status: 0,
      signal: null,
    });
    expect(this.#log).not.toMatch(CONFESSIONS);
  }

  /** Loads what is loaded on first use and lets the heap reach its size, so that neither counts as growth later. */
  async #warmUp(): Promise<void> {
    const client = await this.connect();
    await client.run('warm up', 'head -c 20000000 /dev/zero');
    const connected = this.descriptors;
    await client.drop();
    this.#idleDescriptors = await until(
      () => this.descriptors,
      (count) => count < connected,
      'the first disconnect',
    );
  }
}
