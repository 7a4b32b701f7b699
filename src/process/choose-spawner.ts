/** Decides which spawner serves, and says why. */
import { createPortableSpawner, PORTABLE_LIMITS } from './spawn-portable.ts';
import type { Spawner } from './spawner.ts';

export type SpawnerReport = { name: Spawner['name']; reason: string; limits: readonly string[] };

export function createSpawner(): Spawner {
  return createPortableSpawner();
}

export function describeSpawner(): SpawnerReport {
  return { name: 'portable', reason: 'it is the only one built so far', limits: PORTABLE_LIMITS };
}
