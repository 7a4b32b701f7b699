/** Public entry `farhand/server`: run a server in this process. Importing it loads no engine yet. */
import type { SpawnerName, SpawnerReport } from '../process/choose-spawner.ts';

export type { SpawnerName, SpawnerReport } from '../process/choose-spawner.ts';
export type { Spawner } from '../process/spawner.ts';
export type { Log, LogFields } from '../util/log.ts';
export {
  type EngineOptions,
  listenOnStdio,
  listenOnWebSocket,
  type RunningServer,
  type StdioServerOptions,
  type WebSocketServerOptions,
} from './listen.ts';

/** Which spawner serves on this machine, why, and what it cannot do. */
export async function describeSpawner(wanted?: SpawnerName): Promise<SpawnerReport> {
  return (await import('../process/choose-spawner.ts')).describeSpawner(wanted);
}
