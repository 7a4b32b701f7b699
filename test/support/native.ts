/**
 * The native addon for tests. Where it could not be built the tests that need it are skipped, unless REQUIRE_NATIVE=1
 * says that it must be there. FARHAND_TEST_ADDON names another build of it, such as one with sanitizers.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { loadNativeAddon, type NativeAddon, probeNative } from '../../src/process/native-addon.ts';
import { createNativeSpawner, type NativeSpawnRequest } from '../../src/process/spawn-native.ts';
import { WatchedChild } from './watched-child.ts';

const BUILT = fileURLToPath(new URL('../../native/build/Release/farhand.node', import.meta.url));
const HOST = fileURLToPath(new URL('./native-host.cjs', import.meta.url));

/** A host that hangs must not outlive its test for long. */
const HOST_PATIENCE_MS = 25_000;

export const ADDON_PATH = process.env.FARHAND_TEST_ADDON ?? BUILT;

const probe = probeNative(() => loadNativeAddon(ADDON_PATH));
if (!probe.ok && process.env.REQUIRE_NATIVE === '1') throw new Error(`the native addon is required: ${probe.reason}`);

export const hasNative = probe.ok;
/** Sanitizers make everything several times slower and memory uncountable. */
export const isSanitized = process.env.FARHAND_TEST_ADDON !== undefined;

export function nativeAddon(): NativeAddon {
  if (!probe.ok) throw new Error(probe.reason);
  return probe.addon;
}

export function startNative(argv: string[], rest?: Partial<NativeSpawnRequest>): Promise<WatchedChild> {
  return WatchedChild.start(createNativeSpawner(nativeAddon()), argv, rest);
}

export function shellNative(script: string, rest?: Partial<NativeSpawnRequest>): Promise<WatchedChild> {
  return startNative(['bash', '-c', script], rest);
}

/** One turn of the event loop. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export type HostResult = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

/** Starts a Node process with `start` and `shell` (see native-host.cjs) and `print` at hand. */
export function startHost(program: string, flags: string[] = []) {
  const prelude = `const { addon, start, shell } = require(${JSON.stringify(HOST)}).open(${JSON.stringify(ADDON_PATH)});
    const print = (value) => require('node:fs').writeSync(1, JSON.stringify(value) + '\\n');`;
  const node = spawn(process.execPath, [...flags, '-e', `${prelude}\n${program}`], {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: HOST_PATIENCE_MS,
    killSignal: 'SIGKILL',
  });
  const result = Promise.all([once(node, 'close'), text(node.stdout), text(node.stderr)]).then(
    ([[code, signal], stdout, stderr]): HostResult => ({ code, signal, stdout, stderr }),
  );
  return { node, result };
}

/** The same as source text for a worker inside such a process. */
export const WORKER_PRELUDE = `const { start, shell } = require(${JSON.stringify(HOST)}).open(${JSON.stringify(ADDON_PATH)});`;

export function runHost(program: string, flags?: string[]): Promise<HostResult> {
  return startHost(program, flags).result;
}

/** Resolves when the process is dead. Somebody else's zombie counts: init may take its time. */
export async function dead(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
}

function isAlive(pid: number): boolean {
  try {
    return !statusLine(`/proc/${pid}/status`, 'State').startsWith('Z');
  } catch {
    return false;
  }
}

/** The value of one line of a status file in /proc. */
export function statusLine(file: string, name: string): string {
  return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(readFileSync(file, 'utf8'))?.[1] ?? '';
}
