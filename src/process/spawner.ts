/**
 * The seam between a process and the operating system. Implementations: `spawn-portable.ts` (child_process and an
 * optional PTY package) and, later, the native addon. A spawner knows nothing of sessions, sequence numbers or policies.
 */

export type OutputStream = 'stdout' | 'stderr' | 'pty';

export type TerminalSize = { rows: number; cols: number };

export type SpawnRequest = {
  /** argv[0] is the program; looked up in the PATH of `env` when it is a bare name. Never empty. */
  argv: readonly string[];
  /** What the program sees as its argv[0], when that differs. */
  arg0: string | undefined;
  /** Absolute native path. */
  cwd: string;
  /** The complete environment of the child. */
  env: Readonly<Record<string, string>>;
  stdin: 'none' | 'pipe';
  /** Present for a terminal; then `stdin` is ignored and all output is `pty`. */
  terminal: TerminalSize | undefined;
};

/** Exactly one of `code` and `signal` is set, unless waiting itself failed (then both are null). */
export type ExitStatus = { code: number | null; signal: string | null };

export type SpawnEvents = {
  /** Up to 64 KiB at a time; the buffer belongs to the receiver. Never called while paused. */
  output(stream: OutputStream, bytes: Uint8Array): void;
  /** Once, when the direct child is gone. Output may still follow. */
  exited(status: ExitStatus): void;
  /** Once, after the last output: every stream ended or was closed. May precede `exited`. */
  ended(): void;
};

/** A running child. Events flow only after `begin()`. */
export interface SpawnedChild {
  readonly pid: number;
  begin(events: SpawnEvents): void;
  /** Stops and restarts reading the child's output; the child blocks when its pipe is full. */
  pause(): void;
  resume(): void;
  /**
   * Queues bytes for stdin; resolves when the child's pipe took them or can never take them (it closed its end or
   * exited: the bytes are dropped). Never rejects.
   */
  write(bytes: Uint8Array): Promise<void>;
  /** End of file on a stdin pipe after what is queued. Does nothing on a terminal. */
  closeStdin(): void;
  /** Sends a signal to the child's whole group. A group that is gone is not an error; other failures throw ExecError. */
  signal(name: NodeJS.Signals): void;
  /** Kills the group and closes our ends of its streams, so `ended` follows even if a descendant escaped with a pipe. */
  kill(): void;
  /** Terminal only. */
  resize(size: TerminalSize): void;
}

export interface Spawner {
  readonly name: 'native' | 'portable';
  /** Rejects with ExecError('internal', text of the spec) when the child cannot be started. */
  spawn(request: SpawnRequest): Promise<SpawnedChild>;
}
