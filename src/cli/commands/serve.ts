/** `farhand serve` and its alias `exec-server`: flags -> a running server -> exit status. */
import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { type Log, listenOnStdio, listenOnWebSocket, type RunningServer } from '../../server/index.ts';
import { isLoopback, parseListenUrl } from '../../transport/index.ts';
import { type LogFormat, type LogLevel, openLog } from '../logger.ts';
import { type ParsedOptions, parseOptions } from '../options.ts';
import { LISTEN, readAuth, readMaxConnections, readServerOptions, readTls, SERVE_OPTIONS } from './serve-options.ts';

export async function serve(args: readonly string[]): Promise<number> {
  const options = parseOptions(SERVE_OPTIONS, args);
  const log = openLog(
    (options.text('log-level') ?? 'info') as LogLevel, // The table's choices are these types.
    (options.text('log-format') ?? 'text') as LogFormat,
  );
  survive(log);
  const server = await open(options, log);
  stopOnSignals(server, log); // Before the announcement: whoever reads the URL may stop us at once.
  if (server.url !== undefined) announce(server.url, options.has('hint'));
  await server.done;
  return 0;
}

async function open(options: ParsedOptions, log: Log): Promise<RunningServer> {
  const listen = parseListenUrl(options.text('listen') ?? LISTEN.fallback);
  const auth = readAuth(options, listen.type);
  const common = readServerOptions(options, log);
  if (listen.type === 'stdio') {
    return await listenOnStdio({ ...common, input: process.stdin, output: openStdout() });
  }
  const isOpen = !auth && common.authToken === undefined && !options.has('allow-unauthenticated');
  if (isOpen && !isLoopback(listen.host)) {
    throw new Error(
      `refusing to serve ${listen.host} without authentication: add --ws-auth or --auth-token-file, or --allow-unauthenticated if the network is trusted`,
    );
  }
  return await listenOnWebSocket({
    ...common,
    host: listen.host,
    port: listen.port,
    maxConnections: readMaxConnections(options),
    auth,
    tls: readTls(options),
  });
}

/** Node writes to a pipe on stdout synchronously; a client that does not read would stop the whole server. */
function openStdout(): Writable {
  const kind = fstatSync(1);
  return kind.isFIFO() || kind.isSocket() ? new Socket({ fd: 1, readable: false, writable: true }) : process.stdout;
}

function announce(url: string, withHint: boolean): void {
  process.stdout.on('error', () => {}); // Whoever started us may not read the line; that is their choice.
  process.stdout.write(`${url}\n`);
  if (!withHint) return;
  const http = url.replace(/^ws/, 'http');
  process.stderr.write(
    [
      `farhand serves on ${url}; Ctrl-C stops it and every process it started.`,
      'Try it from another terminal:',
      `  curl -i ${http}/readyz`,
      `  CODEX_EXEC_SERVER_URL=${url} codex exec --skip-git-repo-check -s danger-full-access 'run uname -a'`,
      '',
    ].join('\n'),
  );
}

function stopOnSignals(server: RunningServer, log: Log): void {
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(128 + constants.signals[signal]);
      isStopping = true;
      log.info('stopping', { signal });
      void server.stop(); // `done` tells, and `stop` does not reject.
    });
  }
}

/** A defect in one request must not end the processes of every other client. */
function survive(log: Log): void {
  const report = (error: unknown): void => {
    log.error('unexpected error', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  };
  process.on('uncaughtException', report);
  process.on('unhandledRejection', report);
}
