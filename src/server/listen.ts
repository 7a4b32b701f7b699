/** Brings connections to a server: a WebSocket listener, or this process's own stdin and stdout. Wiring only. */
import type { Readable, Writable } from 'node:stream';
import { openStdioConnection, openWebSocketListener, type WebSocketListenerOptions } from '../transport/index.ts';
import { ExecServerHost, type ServerOptions } from './serve.ts';

export type RunningServer = AsyncDisposable & {
  /** Where clients connect; absent for stdio. */
  readonly url: string | undefined;
  /** Resolves when the server ended by itself (its stdio peer is gone) or was stopped. */
  readonly done: Promise<void>;
  /** Ends every process, says goodbye to the clients, and resolves when all is closed. Idempotent. */
  stop(): Promise<void>;
};

export type WebSocketServerOptions = ServerOptions & Omit<WebSocketListenerOptions, 'onConnection' | 'log'>;
export type StdioServerOptions = ServerOptions & { input: Readable; output: Writable };

export async function listenOnWebSocket(options: WebSocketServerOptions): Promise<RunningServer> {
  const host = new ExecServerHost(options);
  const listener = await openWebSocketListener({
    ...options,
    onConnection: (connection) => void host.serve(connection), // `serve` never rejects.
  });
  return running(listener.url, async () => {
    listener.stopAccepting();
    await host.stop();
    await listener.close();
  });
}

/** One connection, no sessions beyond it. */
export function listenOnStdio(options: StdioServerOptions): RunningServer {
  const host = new ExecServerHost({ ...options, sessionGraceMs: 0 });
  const server = running(undefined, () => host.stop());
  void host.serve(openStdioConnection(options)).then(() => server.stop()); // Neither rejects.
  return server;
}

function running(url: string | undefined, end: () => Promise<void>): RunningServer {
  let stopping: Promise<void> | undefined;
  let resolveDone = (): void => {};
  const done = new Promise<void>((resolve) => {
    resolveDone = resolve;
  });
  const stop = (): Promise<void> => {
    stopping ??= end().finally(resolveDone);
    return stopping;
  };
  return { url, done, stop, [Symbol.asyncDispose]: stop };
}
