/**
 * Children of the portable spawner on a terminal. Owns the master side from the fork on: reads it through a stream
 * while the child lives and empties it by hand when the child is gone, because the stream loses what is left; writes to
 * it by hand, because the stream would block the whole server on input nobody takes. Does no lookup.
 */
import { closeSync, existsSync, constants as files, openSync, readSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { ReadStream } from 'node:tty';
import { ExecError } from '../protocol/errors.ts';
import { errorCode, osErrorText } from '../util/os-error.ts';
import { killGroup, signalGroup } from './kill-tree.ts';
import { PausableOutput } from './pausable-output.ts';
import type { ForkedChild, PtyBinding } from './pty-binding.ts';
import type { ExitStatus, SpawnEvents, SpawnedChild, SpawnRequest, TerminalSize } from './spawner.ts';
import { terminalEnvironment } from './terminal-env.ts';

/**
 * Masters of all open terminals. The package opens them without the mark that keeps them from children, so whoever
 * forks must know them. Descriptors belong to the process, hence one set for all spawners.
 */
const masters = new Set<number>();
export const openMasters: ReadonlySet<number> = masters;

const READ_BYTES = 65_536;
/** A terminal holds some tens of KiB; more can only come from somebody who goes on printing after the child's end. */
const MAX_TAIL_BYTES = 1_048_576;
/** A terminal that takes no input is tried again after this, then after twice as long, up to the second. */
const MIN_RETRY_MS = 1;
const MAX_RETRY_MS = 64;

/** Sets argv[0], which the package cannot; everything else of the child stays as it is. */
const LAUNCHER = '/usr/bin/perl';
/** Perl complains about unknown locales on the terminal unless told not to. */
const LAUNCHER_QUIET = 'PERL_BADLANG';
const LAUNCH = 'exec {shift} @ARGV; exit 127';
const LAUNCH_QUIETLY = `delete $ENV{${LAUNCHER_QUIET}}; ${LAUNCH}`;

/** Starts a child on a new terminal; throws with the system's text when that fails. */
export function spawnPty(
  request: SpawnRequest & { terminal: TerminalSize },
  program: string,
  binding: PtyBinding,
): SpawnedChild {
  const { file, args, env } = commandOf(request, program);
  const { rows, cols } = request.terminal;
  let exited: ((status: ExitStatus) => void) | undefined;
  let forked: ForkedChild;
  try {
    const onExit = (code: number, signal: number): void => exited?.(toStatus(code, signal));
    forked = binding.fork(file, args, env, request.cwd, cols, rows, -1, -1, false, binding.helperPath, onExit);
  } catch (cause) {
    throw new ExecError('internal', whyNoTerminal(), { cause });
  }
  try {
    const child = new PtyChild(forked, binding);
    // The exit is reported in a later turn of the loop, so it cannot be missed.
    exited = (status) => child.exited(status);
    return child;
  } catch (cause) {
    killGroup(forked.pid, false);
    closeSync(forked.fd);
    throw new ExecError('internal', osErrorText(cause), { cause });
  }
}

type Command = { file: string; args: string[]; env: string[] };

function commandOf({ argv, arg0, env }: SpawnRequest, program: string): Command {
  const variables = Object.entries(terminalEnvironment(env)).map(([name, value]) => `${name}=${value}`);
  const [name = program, ...args] = argv;
  // The package hands over the name it was given as argv[0] and lets libc search the PATH of the child.
  if (arg0 === undefined || arg0 === name) return { file: name, args, env: variables };
  if (!existsSync(LAUNCHER)) throw new ExecError('internal', `arg0 on a terminal needs ${LAUNCHER} on this host`);
  if (Object.hasOwn(env, LAUNCHER_QUIET)) {
    return { file: LAUNCHER, args: ['-e', LAUNCH, program, arg0, ...args], env: variables };
  }
  variables.push(`${LAUNCHER_QUIET}=0`);
  return { file: LAUNCHER, args: ['-e', LAUNCH_QUIETLY, program, arg0, ...args], env: variables };
}

function toStatus(code: number, signal: number): ExitStatus {
  if (signal === 0) return { code, signal: null };
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  return { code: null, signal: name ?? `SIG${signal}` };
}

/** The package does not say why it failed. A terminal takes two descriptors; if those can be had, it was the fork. */
function whyNoTerminal(): string {
  const opened: number[] = [];
  try {
    for (const _end of ['master', 'slave']) opened.push(openSync('/dev/ptmx', 'r+'));
    return osErrorText({ code: 'EAGAIN' });
  } catch (cause) {
    return osErrorText(cause);
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

type PendingWrite = { bytes: Uint8Array; offset: number; done(): void };

class PtyChild implements SpawnedChild {
  readonly pid: number;
  readonly #fd: number;
  readonly #binding: PtyBinding;
  readonly #source: ReadStream;
  readonly #output: PausableOutput;
  #events: SpawnEvents | undefined;
  #status: ExitStatus | undefined;
  #writes: PendingWrite[] = [];
  #retry: NodeJS.Timeout | undefined;

  constructor({ pid, fd, pty }: ForkedChild, binding: PtyBinding) {
    this.pid = pid;
    this.#fd = fd;
    this.#binding = binding;
    // While we hold the child's side as well, the stream sees no end before the child's own. It would close the master
    // then, and a child that closes its output a moment before it exits would die of the hang-up instead.
    const slave = openSync(pty, files.O_RDWR | files.O_NOCTTY);
    try {
      this.#source = new ReadStream(fd);
    } catch (cause) {
      closeSync(slave);
      throw cause;
    }
    masters.add(fd);
    // The stream believes a short read before a hang-up to be the last one. Its descriptor is still open here.
    this.#source.on('end', () => this.#takeTail());
    this.#source.on('close', () => {
      closeSync(slave);
      masters.delete(fd);
      this.#dropWrites();
    });
    this.#output = new PausableOutput(this.#source);
  }

  /** The direct child was collected. Nothing it printed can come later: the terminal was hung up with it. */
  exited(status: ExitStatus): void {
    this.#status = status;
    this.#output.takeBuffered();
    this.#takeTail();
    this.#output.close();
    this.#dropWrites();
    this.#events?.exited(status);
  }

  begin(events: SpawnEvents): void {
    this.#events = events;
    this.#output.begin({ deliver: (bytes) => events.output('pty', bytes), ended: () => events.ended() });
    const status = this.#status;
    if (status) process.nextTick(() => events.exited(status));
  }

  pause(): void {
    this.#output.pause();
  }

  resume(): void {
    this.#output.resume();
  }

  write(bytes: Uint8Array): Promise<void> {
    return new Promise((done) => {
      this.#writes.push({ bytes, offset: 0, done });
      if (this.#retry === undefined) this.#writeNow(MIN_RETRY_MS);
    });
  }

  /** A terminal has no end of file; its user types one. */
  closeStdin(): void {}

  signal(name: NodeJS.Signals): void {
    if (!this.#status) signalGroup(this.pid, name, false);
  }

  kill(): void {
    killGroup(this.pid, this.#status !== undefined);
    this.#output.discard();
    this.#dropWrites();
  }

  resize({ rows, cols }: TerminalSize): void {
    if (this.#source.destroyed) return;
    try {
      this.#binding.resize(this.#fd, cols, rows);
    } catch (cause) {
      throw new ExecError('internal', `failed to resize terminal: ${osErrorText(cause)}`, { cause });
    }
  }

  /** Everything the terminal still holds, at once. */
  #takeTail(): void {
    if (this.#source.destroyed) return; // The number may mean something else by now.
    try {
      for (let total = 0; total < MAX_TAIL_BYTES; ) {
        const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
        const length = readSync(this.#fd, buffer);
        if (length === 0) return;
        total += length;
        this.#output.push(buffer.subarray(0, length));
      }
    } catch (error) {
      // EAGAIN and EIO both say that it is empty, the second that it will stay so.
      if (!['EAGAIN', 'EIO'].includes(errorCode(error) ?? '')) throw error;
    }
  }

  #writeNow(retryMs: number): void {
    this.#retry = undefined;
    for (let next = this.#writes[0]; next; next = this.#writes[0]) {
      const written = this.#writeSome(next);
      if (written === 'full') {
        this.#retry = setTimeout(() => this.#writeNow(Math.min(retryMs * 2, MAX_RETRY_MS)), retryMs);
        return;
      }
      retryMs = MIN_RETRY_MS;
      next.offset += written;
      if (next.offset < next.bytes.byteLength) continue;
      this.#writes.shift();
      next.done();
    }
  }

  /** The bytes taken. A terminal without a reader takes all: they are dropped. */
  #writeSome({ bytes, offset }: PendingWrite): number | 'full' {
    const all = bytes.byteLength - offset;
    if (this.#source.destroyed || this.#status || all === 0) return all;
    try {
      return writeSync(this.#fd, bytes, offset);
    } catch (error) {
      return errorCode(error) === 'EAGAIN' ? 'full' : all;
    }
  }

  #dropWrites(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    for (const { done } of this.#writes.splice(0)) done();
  }
}
