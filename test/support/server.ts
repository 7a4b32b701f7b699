/** A real server in this process, reachable over any transport; what the scenarios run against. */
import { PassThrough } from 'node:stream';
import { createSpawner } from '../../src/process/choose-spawner.ts';
import { ExecServerHost, type ServerOptions } from '../../src/server/serve.ts';
import type { Connection } from '../../src/transport/connection.ts';
import { dialWebSocket, memoryPair, openStdioConnection, openWebSocketListener } from '../../src/transport/index.ts';
import type { Log } from '../../src/util/log.ts';
import { TestClient } from './client.ts';
import { TEST_SPAWNER } from './spawner.ts';

export type TransportName = 'memory' | 'stdio' | 'websocket';
export const TRANSPORTS: readonly TransportName[] = ['memory', 'stdio', 'websocket'];

export type TestServer = AsyncDisposable & {
  host: ExecServerHost;
  /** What was logged, one line each. */
  log: string[];
  url: string;
  /** A connection that has said nothing yet. */
  open(): Promise<TestClient>;
  /** A connection that has done the handshake. */
  connect(resumeSessionId?: string): Promise<TestClient>;
};

export async function startServer(
  transport: TransportName,
  options: Partial<ServerOptions> & { pingIntervalMs?: number } = {},
): Promise<TestServer> {
  const log: string[] = [];
  const collect =
    (level: string) =>
    (message: string, fields?: object): void => {
      log.push(`${level} ${message}${fields ? ` ${JSON.stringify(fields)}` : ''}`);
    };
  const logger: Log = {
    debug: collect('debug'),
    info: collect('info'),
    warn: collect('warn'),
    error: collect('error'),
  };
  const host = new ExecServerHost({
    spawner: createSpawner(TEST_SPAWNER),
    version: '0.0.0-test',
    environment: { PATH: process.env.PATH ?? '/bin:/usr/bin', HOME: '/tmp' },
    cwd: '/tmp',
    log: logger,
    ...options,
  });
  const clients: TestClient[] = [];
  const listener =
    transport === 'websocket'
      ? await openWebSocketListener({
          host: '127.0.0.1',
          port: 0,
          log: logger,
          onConnection: (connection) => void host.serve(connection),
          ...(options.pingIntervalMs !== undefined && { pingIntervalMs: options.pingIntervalMs }),
        })
      : undefined;

  const dial = async (): Promise<Connection> => {
    if (listener) return await dialWebSocket(listener.url);
    if (transport === 'memory') {
      const [near, far] = memoryPair();
      void host.serve(far);
      return near;
    }
    const toServer = new PassThrough();
    const toClient = new PassThrough();
    void host.serve(openStdioConnection({ input: toServer, output: toClient }));
    return openStdioConnection({ input: toClient, output: toServer });
  };

  const open = async (): Promise<TestClient> => {
    const client = new TestClient(await dial());
    clients.push(client);
    return client;
  };
  return {
    host,
    log,
    url: listener?.url ?? '',
    open,
    connect: async (resumeSessionId) => await (await open()).initialize(resumeSessionId),
    async [Symbol.asyncDispose]() {
      await host.stop();
      await listener?.close();
      for (const client of clients) await client.drop();
    },
  };
}
