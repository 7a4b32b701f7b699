/** Public entry `farhand/server`: run a server in this process. */
export { createSpawner, describeSpawner } from '../process/choose-spawner.ts';
export type { Spawner } from '../process/spawner.ts';
export type { Log, LogFields } from '../util/log.ts';
export {
  listenOnStdio,
  listenOnWebSocket,
  type RunningServer,
  type StdioServerOptions,
  type WebSocketServerOptions,
} from './listen.ts';
export { ExecServerHost, type ServerOptions } from './serve.ts';
