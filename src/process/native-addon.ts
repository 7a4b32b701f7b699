/**
 * Finds and loads the native addon and says what it looks like from here; the only file that knows where it is built and
 * what its numbers mean. Whether to use it is decided elsewhere.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { OutputStream, TerminalSize } from './spawner.ts';

/** All strings in one block, each ended by a zero byte: file, folder, arguments, variables (`NAME=value`). */
export type NativeRequest = TerminalSize & {
  strings: Uint8Array;
  argumentCount: number;
  variableCount: number;
  inputPipe: boolean;
  terminal: boolean;
  /** Pairs of numbers: the descriptor in the child (3 or more) and the one here. */
  descriptors: Int32Array;
};

/** The first element says what happened; the numbers are those of `native/farhand.h`. */
export type NativeEvent =
  | [output: 0, stream: number, bytes: Uint8Array]
  /** Both numbers are -1 when waiting failed, else one of them is. */
  | [exited: 1, code: number, signal: number]
  | [ended: 2]
  | [writable: 3];

export const NATIVE_STREAMS: readonly OutputStream[] = ['stdout', 'stderr', 'pty'];

export interface NativeChild {
  readonly pid: number;
  begin(notify: (...event: NativeEvent) => void): void;
  pause(): void;
  resume(): void;
  /** How many bytes were taken, or -1 when none will ever be. After fewer than given, one `writable` event follows. */
  write(bytes: Uint8Array): number;
  closeInput(): void;
  closeStreams(): void;
  /** 0, or a negative error number. */
  resize(size: TerminalSize): number;
}

export interface NativeAddon {
  /** Starts a process; throws an error with `errno` (negative) and `stage`. */
  readonly Child: new (
    request: NativeRequest,
  ) => NativeChild;
  /** The first thing the kernel cannot do, or null when it can do all. */
  missingFeature(): string | null;
}

export type NativeProbe = { ok: true; addon: NativeAddon } | { ok: false; reason: string };

/** Below the root of the package, which is one level up from the bundled file and two from this one. */
const BUILT = 'native/build/Release/farhand.node';
const ROOTS = ['../', '../../'];

/** Throws when there is no addon or it cannot be loaded. */
export function loadNativeAddon(path = builtAddon()): NativeAddon {
  return parseAddon(createRequire(import.meta.url)(path));
}

/** Whether this host can use the addon, and if not, why in words for a person. */
export function probeNative(load: () => NativeAddon = loadNativeAddon): NativeProbe {
  let addon: NativeAddon;
  try {
    addon = load();
  } catch (cause) {
    return { ok: false, reason: cause instanceof Error ? firstLine(cause.message) : String(cause) };
  }
  const missing = addon.missingFeature();
  if (missing === null) return { ok: true, addon };
  return { ok: false, reason: `this kernel has no ${missing}; Linux 5.11 or newer is needed` };
}

function builtAddon(): string {
  if (process.platform !== 'linux') throw new Error(`there is no native addon for ${process.platform}`);
  const candidates = ROOTS.map((root) => fileURLToPath(new URL(root + BUILT, import.meta.url)));
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) throw new Error('the native addon is not built; scripts/native.mjs builds it');
  return found;
}

function parseAddon(loaded: unknown): NativeAddon {
  const isAddon =
    typeof loaded === 'object' &&
    loaded !== null &&
    'Child' in loaded &&
    typeof loaded.Child === 'function' &&
    'missingFeature' in loaded &&
    typeof loaded.missingFeature === 'function';
  if (!isAddon) throw new Error('the native addon is from another version');
  return loaded as NativeAddon;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text;
}
