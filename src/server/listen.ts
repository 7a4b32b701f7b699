/**
 * Brings connections to a server: a WebSocket listener, or this process's own stdin and stdout. Wiring only. What is not
 * needed to listen (the contract, the engine, the spawner) is loaded right after the port is open, so that a server is
 * reachable as soon as it can be.
 */
import type { Readable, Writable } from 'node:stream';
import type { SpawnerName } from '../process/choose-spawner.ts';
import type { Spawner } from '../process/spawner.ts';
import { openStdioConnection, openWebSocketListener, type WebSocketListenerOptions } from '../transport/index.ts';
import { deferred } from '../util/deferred.ts';
import type { ExecServerHost, ServerOptions } from './serve.ts';

export type RunningServer = AsyncDisposable & {
  /** Where clients connect; absent for stdio. */
  readonly url: string | undefined;
  /** Resolves when the server ended by itself (its stdio peer is gone) or was stopped; rejects when it cannot serve. */
  readonly done: Promise<void>;
  /** Ends every process, says goodbye to the clients, and resolves when all is closed. Idempotent. */
  stop(): Promise<void>;
};

/** A spawner may be given, or named; without either the best one for this machine is used. */
export type EngineOptions = Omit<ServerOptions, 'spawner'> & { spawner?: Spawner | SpawnerName | undefined };
export type WebSocketServerOptions = EngineOptions & Omit<WebSocketListenerOptions, 'onConnection' | 'log'>;
export type StdioServerOptions = EngineOptions & { input: Readable; output: Writable };

export async function listenOnWebSocket(options: WebSocketServerOptions): Promise<RunningServer> {
  let host: Promise<ExecServerHost> | undefined;
  const engine = (): Promise<ExecServerHost> => {
    host ??= openHost(options);
    return host;
  };
  const listener = await openWebSocketListener({
    ...options,
    // `serve` never rejects; that the engine cannot be loaded is told by `done`.
    onConnection: (connection) =>
      void engine().then(
        (ready) => ready.serve(connection),
        () => connection.close('drop'),
      ),
  });
  const { server, fail } = running(listener.url, async () => {
    clearImmediate(loading);
    listener.stopAccepting();
    await host?.then(
      (ready) => ready.stop(),
      () => {},
    );
    await listener.close();
  });
  const loading = setImmediate(() => void engine().catch(fail));
  return server;
}

/** One connection, no sessions beyond it. */
export async function listenOnStdio(options: StdioServerOptions): Promise<RunningServer> {
  const host = await openHost({ ...options, sessionGraceMs: 0 });
  const { server } = running(undefined, () => host.stop());
  void host.serve(openStdioConnection(options)).then(() => server.stop()); // Neither rejects.
  return server;
}

async function openHost(options: EngineOptions): Promise<ExecServerHost> {
  return (await import('./engine.ts')).openHost(options);
}

type Running = { server: RunningServer /** Ends it, and says why. */; fail(cause: unknown): void };

function running(url: string | undefined, end: () => Promise<void>): Running {
  const done = deferred();
  done.promise.catch(() => {}); // Not everybody asks; who does gets it.
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= end().finally(done.resolve);
    return stopping;
  };
  const fail = (cause: unknown): void => {
    done.reject(cause);
    void stop();
  };
  return { server: { url, done: done.promise, stop, [Symbol.asyncDispose]: stop }, fail };
}
