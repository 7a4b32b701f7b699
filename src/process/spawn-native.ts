/**
 * The spawner of Linux hosts, on the native addon: real pipes, terminals whose last byte arrives, failures known at
 * once. The addon reads, writes a piece at a time and waits; here are the queue of writes, the promise that nothing is
 * delivered while paused, and the words for errors.
 */
import { constants } from 'node:os';
import { ExecError } from '../protocol/errors.ts';
import { osErrorText } from '../util/os-error.ts';
import { killGroup, signalGroup } from './kill-tree.ts';
import {
  loadNativeAddon,
  NATIVE_STREAMS,
  type NativeAddon,
  type NativeChild,
  type NativeEvent,
  type NativeRequest,
} from './native-addon.ts';
import { resolveProgram } from './program-lookup.ts';
import type {
  ExitStatus,
  OutputStream,
  SpawnEvents,
  SpawnedChild,
  Spawner,
  SpawnRequest,
  TerminalSize,
} from './spawner.ts';
import { terminalEnvironment } from './terminal-env.ts';

export type NativeSpawnRequest = SpawnRequest & {
  /** Descriptors of this process that the child gets, besides its three. Ours stay open and ours. */
  descriptors?: readonly { child: number; parent: number }[];
};

/** What even this spawner cannot do. */
export const NATIVE_LIMITS: readonly string[] = [
  'If the server is killed, direct children end (by a signal on pipes, by hang-up on a terminal); their own children on pipes live on.',
];

export class NativeSpawner implements Spawner {
  readonly name = 'native';
  readonly #addon: NativeAddon;

  constructor(addon: NativeAddon) {
    this.#addon = addon;
  }

  async spawn(request: NativeSpawnRequest): Promise<SpawnedChild> {
    const native = toNativeRequest(request, resolveProgram(request));
    return new RunningChild(this.#start(native), native.terminal);
  }

  #start(request: NativeRequest): NativeChild {
    try {
      return new this.#addon.Child(request);
    } catch (cause) {
      throw new ExecError('internal', osErrorText(cause), { cause });
    }
  }
}

export function createNativeSpawner(addon = loadNativeAddon()): NativeSpawner {
  return new NativeSpawner(addon);
}

/** The strings have no zero bytes in them: the lookup of the program refused those. */
function toNativeRequest(request: NativeSpawnRequest, program: string): NativeRequest {
  const { argv, arg0, cwd, env, stdin, terminal, descriptors = [] } = request;
  const argumentList = [arg0 ?? argv[0] ?? program, ...argv.slice(1)];
  const variables = Object.entries(terminal ? terminalEnvironment(env) : env).map(
    ([name, value]) => `${name}=${value}`,
  );
  return {
    strings: Buffer.from([program, cwd, ...argumentList, ...variables, ''].join('\0')),
    argumentCount: argumentList.length,
    variableCount: variables.length,
    inputPipe: stdin === 'pipe',
    terminal: terminal !== undefined,
    rows: terminal?.rows ?? 0,
    cols: terminal?.cols ?? 0,
    descriptors: Int32Array.from(descriptors.flatMap(({ child, parent }) => [child, parent])),
  };
}

type HeldOutput = { stream: OutputStream; bytes: Uint8Array };
type PendingWrite = { bytes: Uint8Array; taken(): void };

class RunningChild implements SpawnedChild {
  readonly pid: number;
  readonly #native: NativeChild;
  readonly #isTerminal: boolean;
  #events: SpawnEvents | undefined;
  #isPaused = false;
  #isReaped = false;
  /** What a terminal still held when its leader exited while paused. */
  #held: HeldOutput[] = [];
  #ending: 'open' | 'afterHeld' | 'ended' = 'open';
  #writes: PendingWrite[] = [];
  #isInputEnding = false;

  constructor(native: NativeChild, isTerminal: boolean) {
    this.pid = native.pid;
    this.#native = native;
    this.#isTerminal = isTerminal;
  }

  begin(events: SpawnEvents): void {
    this.#events = events;
    this.#native.begin((...event) => this.#notified(events, event));
    this.#pump();
  }

  pause(): void {
    this.#isPaused = true;
    this.#native.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#native.resume();
    // Later: whoever resumes does not expect output before the call returns.
    if (this.#held.length > 0) setImmediate(() => this.#deliverHeld());
  }

  write(bytes: Uint8Array): Promise<void> {
    if (this.#isInputEnding) return Promise.resolve();
    return new Promise((taken) => {
      this.#writes.push({ bytes, taken });
      if (this.#writes.length === 1) this.#pump();
    });
  }

  closeStdin(): void {
    if (this.#isTerminal) return;
    this.#isInputEnding = true;
    this.#pump();
  }

  signal(name: NodeJS.Signals): void {
    if (!this.#isReaped) signalGroup(this.pid, name, false);
  }

  kill(): void {
    killGroup(this.pid, this.#isReaped);
    this.#native.closeStreams();
    this.#dropInput();
    this.#held = [];
    if (this.#ending === 'afterHeld') setImmediate(() => this.#deliverHeld());
  }

  resize(size: TerminalSize): void {
    if (!this.#isTerminal) throw new ExecError('invalidParams', 'only a terminal has a size');
    const errno = this.#native.resize(size);
    if (errno < 0) throw new ExecError('internal', `failed to resize terminal: ${osErrorText({ errno })}`);
  }

  #notified(events: SpawnEvents, event: NativeEvent): void {
    switch (event[0]) {
      case 0:
        this.#output(events, NATIVE_STREAMS[event[1]] ?? 'stdout', event[2]);
        break;
      case 1:
        this.#isReaped = true;
        this.#dropInput();
        events.exited(toStatus(event[1], event[2]));
        break;
      case 2:
        this.#ending = 'afterHeld';
        this.#endIfDone(events);
        break;
      case 3:
        this.#pump();
        break;
    }
  }

  #output(events: SpawnEvents, stream: OutputStream, bytes: Uint8Array): void {
    if (this.#isPaused || this.#held.length > 0) this.#held.push({ stream, bytes });
    else events.output(stream, bytes);
  }

  #deliverHeld(): void {
    const events = this.#events;
    if (!events) return;
    while (!this.#isPaused) {
      const next = this.#held.shift();
      if (!next) break;
      events.output(next.stream, next.bytes);
    }
    this.#endIfDone(events);
  }

  #endIfDone(events: SpawnEvents): void {
    if (this.#ending !== 'afterHeld' || this.#held.length > 0) return;
    this.#ending = 'ended';
    events.ended();
  }

  #pump(): void {
    for (;;) {
      const next = this.#writes[0];
      if (!next) break;
      const count = next.bytes.byteLength === 0 ? 0 : this.#native.write(next.bytes);
      if (count < 0) {
        this.#dropInput();
        return;
      }
      next.bytes = next.bytes.subarray(count);
      if (next.bytes.byteLength > 0) return;
      this.#writes.shift();
      next.taken();
    }
    if (this.#isInputEnding) this.#native.closeInput();
  }

  /** Nobody will read any more: what waits is dropped. */
  #dropInput(): void {
    this.#isInputEnding = true;
    this.#native.closeInput();
    for (const { taken } of this.#writes.splice(0)) taken();
  }
}

function toStatus(code: number, signal: number): ExitStatus {
  if (signal < 0) return { code: code < 0 ? null : code, signal: null };
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  return { code: null, signal: name ?? `SIG${signal}` };
}
