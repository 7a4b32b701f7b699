/**
 * The engine as one piece: the contract, the sessions and the spawner. Everything a server needs besides listening; the
 * bundle keeps it in a file of its own, loaded once the port is open.
 */
import { createSpawner } from '../process/choose-spawner.ts';
import type { EngineOptions } from './listen.ts';
import { ExecServerHost } from './serve.ts';

export function openHost(options: EngineOptions): ExecServerHost {
  const { spawner } = options;
  return new ExecServerHost({ ...options, spawner: typeof spawner === 'object' ? spawner : createSpawner(spawner) });
}
