/** The public entry of the transports: what yields a Connection, and how a listener guards itself. */
export { type AuthPolicy, type AuthVerdict, checkAuthorization } from './auth.ts';
export { type AuthFlags, type AuthSurroundings, resolveWebSocketAuth } from './auth-options.ts';
export type { CloseReason, Connection } from './connection.ts';
export { isLoopback, type ListenAddress, parseListenUrl } from './listen-url.ts';
export { memoryPair } from './memory.ts';
export { openStdioConnection, type StdioOptions } from './stdio.ts';
export { DialError, type DialOptions, dialWebSocket } from './websocket-dial.ts';
export {
  openWebSocketListener,
  type WebSocketListener,
  type WebSocketListenerOptions,
} from './websocket-listener.ts';
