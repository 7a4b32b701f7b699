/**
 * Children of the portable spawner whose output goes to two pipes, by `child_process`. Owns the child from the fork on;
 * does no lookup (`program-lookup.ts` came first) and knows nothing of terminals except that their descriptors must not
 * reach a child.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { ExecError } from '../protocol/errors.ts';
import { osErrorText } from '../util/os-error.ts';
import { killGroup, signalGroup } from './kill-tree.ts';
import { PausableOutput } from './pausable-output.ts';
import type { ExitStatus, SpawnEvents, SpawnedChild, SpawnRequest } from './spawner.ts';

/** Descriptors of this process that every child would inherit, because nobody could mark them otherwise. */
export type LeakyDescriptors = ReadonlySet<number>;

/** Two for each of three pipes, two for Node to hear of a failed exec, one for /dev/null. */
const DESCRIPTORS_PER_START = 9;

/** Starts a child; rejects with the system's text when that fails, and then nothing is left of it. */
export async function spawnPipes(
  request: SpawnRequest,
  program: string,
  leaky: LeakyDescriptors,
): Promise<SpawnedChild> {
  let child: ChildProcess | undefined;
  try {
    child = fork(request, program, leaky);
    const { pid, stdin, stdout, stderr } = child;
    // Both listen from the first moment: the child may print and exit before `spawn` is seen.
    const piped =
      pid === undefined || !stdout || !stderr ? undefined : new PipedChild(child, pid, { stdin, stdout, stderr });
    await once(child, 'spawn');
    if (!piped) throw new Error('a child without an id or without pipes');
    return piped;
  } catch (cause) {
    for (const stream of child?.stdio ?? []) stream?.destroy();
    throw new ExecError('internal', osErrorText(cause), { cause });
  }
}

function fork({ argv, arg0, cwd, env, stdin }: SpawnRequest, program: string, leaky: LeakyDescriptors): ChildProcess {
  const start = (stdio: StdioOptions): ChildProcess =>
    spawn(program, argv.slice(1), {
      argv0: arg0 ?? argv[0] ?? program,
      cwd,
      env: { ...env }, // Node may add to it.
      // A session of its own: the child leads a group that can be signalled as one.
      detached: true,
      windowsHide: true,
      stdio,
    });
  refuseWithoutDescriptors();
  const stdio: (number | 'ignore' | 'pipe')[] = [stdin === 'pipe' ? 'pipe' : 'ignore', 'pipe', 'pipe'];
  if (leaky.size === 0) return start(stdio);
  // They cannot be closed in the child, but they can be replaced by something harmless.
  const nothing = openSync('/dev/null', 'r+');
  try {
    const count = Math.max(...leaky) + 1;
    while (stdio.length < count) stdio.push(leaky.has(stdio.length) ? nothing : 'ignore');
    return start(stdio);
  } finally {
    closeSync(nothing);
  }
}

/** Node forgets the pipes it prepared when it runs out of descriptors on the way; nobody could close them then. */
function refuseWithoutDescriptors(): void {
  const probes: number[] = [];
  try {
    while (probes.length < DESCRIPTORS_PER_START) probes.push(openSync('/dev/null', 'r'));
  } finally {
    for (const fd of probes) closeSync(fd);
  }
}

type Pipes = { stdin: Writable | null; stdout: Readable; stderr: Readable };

class PipedChild implements SpawnedChild {
  readonly pid: number;
  readonly #stdin: Writable | null;
  readonly #stdout: PausableOutput;
  readonly #stderr: PausableOutput;
  #events: SpawnEvents | undefined;
  #status: ExitStatus | undefined;
  #openStreams = 2;

  constructor(child: ChildProcess, pid: number, { stdin, stdout, stderr }: Pipes) {
    this.pid = pid;
    this.#stdin = stdin;
    this.#stdout = new PausableOutput(stdout);
    this.#stderr = new PausableOutput(stderr);
    // A child that closed its end or exited drops what is written; every write is answered by its own callback.
    stdin?.on('error', () => {});
    child.once('exit', (code, signal) => {
      this.#status = { code, signal };
      this.#events?.exited(this.#status);
    });
  }

  begin(events: SpawnEvents): void {
    this.#events = events;
    const ended = (): void => {
      this.#openStreams -= 1;
      if (this.#openStreams === 0) events.ended();
    };
    this.#stdout.begin({ deliver: (bytes) => events.output('stdout', bytes), ended });
    this.#stderr.begin({ deliver: (bytes) => events.output('stderr', bytes), ended });
    const status = this.#status;
    if (status) process.nextTick(() => events.exited(status));
  }

  pause(): void {
    this.#stdout.pause();
    this.#stderr.pause();
  }

  resume(): void {
    this.#stdout.resume();
    this.#stderr.resume();
  }

  write(bytes: Uint8Array): Promise<void> {
    const stdin = this.#stdin;
    if (!stdin?.writable) return Promise.resolve();
    return new Promise((resolve) => {
      stdin.write(bytes, () => resolve());
    });
  }

  closeStdin(): void {
    this.#stdin?.end();
  }

  signal(name: NodeJS.Signals): void {
    if (!this.#status) signalGroup(this.pid, name, false);
  }

  kill(): void {
    killGroup(this.pid, this.#status !== undefined);
    this.#stdin?.destroy();
    this.#stdout.discard();
    this.#stderr.discard();
  }

  resize(): void {
    throw new ExecError('invalidParams', 'only a terminal has a size');
  }
}
