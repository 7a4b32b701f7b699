/** Starts our server in this process, as its own entry points would. */
import { createHash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { createSpawner } from '../../src/process/choose-spawner.ts';
import { listenOnStdio, listenOnWebSocket, type RunningServer } from '../../src/server/listen.ts';
import type { ServerOptions } from '../../src/server/serve.ts';
import type { AuthPolicy } from '../../src/transport/index.ts';
import { TEST_SPAWNER } from '../support/spawner.ts';
import { childrenOf, type GoldenAuth, type GoldenServer, type StartOptions } from './server.ts';
import { dialWebSocket, wireOverStreams } from './wire.ts';

export async function startOurs(options: StartOptions): Promise<GoldenServer> {
  const { home, environment, concurrentRequests, sessionGraceMs, closedRetentionMs, auth } = options;
  const settings: ServerOptions = {
    spawner: createSpawner(TEST_SPAWNER),
    version: '0.0.0-golden',
    environment,
    cwd: home,
    ...(concurrentRequests !== undefined && { concurrentRequests }),
    ...(sessionGraceMs !== undefined && { sessionGraceMs }),
    ...(closedRetentionMs !== undefined && { closedRetentionMs }),
  };
  const input = new PassThrough();
  const output = new PassThrough();
  const server: RunningServer =
    options.transport === 'stdio'
      ? await listenOnStdio({ ...settings, input, output })
      : await listenOnWebSocket({ ...settings, host: '127.0.0.1', port: 0, auth: auth && toPolicy(auth) });
  const { url } = server;
  return {
    kind: 'ours',
    spawner: settings.spawner.name,
    url,
    home,
    connect: async (events) =>
      url === undefined ? wireOverStreams(input, output, events) : dialWebSocket(url, events),
    // In one process there is no exit status; that the server ends by itself is what the status stands for.
    exitStatus: () => server.done.then(() => 0),
    children: () => childrenOf(process.pid),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

function toPolicy(auth: GoldenAuth): AuthPolicy {
  if (auth.type === 'capability-token') {
    return { type: auth.type, tokenSha256: createHash('sha256').update(auth.token).digest() };
  }
  const { type, secret, issuer, audience } = auth;
  return { type, secret: Buffer.from(secret), issuer, audience, maxClockSkewSeconds: 30 };
}
