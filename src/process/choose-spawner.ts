/** Decides which spawner serves, and says why. The native one wherever it works; the portable one where it does not. */
import { type NativeProbe, probeNative } from './native-addon.ts';
import { NATIVE_LIMITS, NativeSpawner } from './spawn-native.ts';
import { createPortableSpawner, PORTABLE_LIMITS } from './spawn-portable.ts';
import type { Spawner } from './spawner.ts';

export type SpawnerName = Spawner['name'];
export type SpawnerReport = { name: SpawnerName; reason: string; limits: readonly string[] };

/** The spawner asked for, or the best this machine can use. Throws when the one asked for cannot be used. */
export function createSpawner(wanted?: SpawnerName, probe: () => NativeProbe = probeNative): Spawner {
  if (wanted === 'portable') return createPortableSpawner();
  const native = probe();
  if (native.ok) return new NativeSpawner(native.addon);
  if (wanted === 'native') throw new Error(`the native spawner cannot be used here: ${native.reason}`);
  return createPortableSpawner();
}

export function describeSpawner(wanted?: SpawnerName, probe: () => NativeProbe = probeNative): SpawnerReport {
  const name = createSpawner(wanted, probe).name;
  const limits = name === 'native' ? NATIVE_LIMITS : PORTABLE_LIMITS;
  if (wanted !== undefined) return { name, reason: 'it was asked for', limits };
  const native = probe();
  return { name, reason: native.ok ? 'the native addon works here' : native.reason, limits };
}
