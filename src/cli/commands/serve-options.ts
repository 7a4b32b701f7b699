/** The flags of `serve` as data, and their translation into the server's options. */
import { readFileSync } from 'node:fs';
import type { EngineOptions, Log, SpawnerName } from '../../server/index.ts';
import { type AuthPolicy, resolveWebSocketAuth } from '../../transport/index.ts';
import { LOG_LEVELS } from '../logger.ts';
import {
  helpFor,
  type OptionSpec,
  type ParsedOptions,
  parseCount,
  parseDuration,
  parseSize,
  parseWhole,
  UsageError,
} from '../options.ts';
import { VERSION } from '../version.ts';

const SPAWNERS: readonly SpawnerName[] = ['native', 'portable'];

export const LISTEN = {
  name: 'listen',
  value: 'URL',
  fallback: 'ws://127.0.0.1:0',
  help: 'ws://IP:PORT (port 0 picks a free one), stdio or stdio://',
};
const CONCURRENT = {
  name: 'concurrent-requests',
  value: 'COUNT',
  fallback: '1',
  help: 'ordinary requests of one connection that run at a time',
};
const SKEW = {
  name: 'ws-max-clock-skew-seconds',
  value: 'SECONDS',
  fallback: '30',
  help: 'clock difference tolerated in signed tokens',
};
const GRACE = {
  name: 'session-grace',
  value: 'DURATION',
  fallback: '30s',
  help: 'how long a session waits for its client to come back before its processes are ended',
};
const RETAIN = {
  name: 'retain-bytes',
  value: 'SIZE',
  fallback: '1MiB',
  help: 'output kept per process for reading again',
};
const MAX_SESSIONS = { name: 'max-sessions', value: 'COUNT', fallback: '1024', help: 'sessions kept at a time' };
const MAX_PROCESSES = { name: 'max-processes', value: 'COUNT', fallback: '1024', help: 'processes per session' };
const MAX_CONNECTIONS = { name: 'max-connections', value: 'COUNT', fallback: '1024', help: 'open connections' };

export const SERVE_OPTIONS: readonly OptionSpec[] = [
  LISTEN,
  CONCURRENT,
  {
    name: 'ws-auth',
    value: 'MODE',
    choices: ['capability-token', 'signed-bearer-token'],
    help: 'what a WebSocket client must present as `Authorization: Bearer`',
  },
  { name: 'ws-token-file', value: 'PATH', help: 'file with the capability token' },
  { name: 'ws-token-sha256', value: 'HEX', help: 'SHA-256 of the capability token, instead of the file' },
  { name: 'ws-shared-secret-file', value: 'PATH', help: 'file with the secret that signs bearer tokens (HS256)' },
  { name: 'ws-issuer', value: 'ISSUER', help: 'issuer that signed tokens must name' },
  { name: 'ws-audience', value: 'AUDIENCE', help: 'audience that signed tokens must name' },
  SKEW,
  { name: 'auth-token-file', value: 'PATH', help: 'file with a token that `initialize` must carry, on any transport' },
  { name: 'tls-cert', value: 'PATH', help: 'PEM certificate chain; serves wss:// together with --tls-key' },
  { name: 'tls-key', value: 'PATH', help: 'PEM private key' },
  { name: 'allow-unauthenticated', help: 'serve on a non-loopback address without authentication' },
  GRACE,
  RETAIN,
  {
    name: 'detached-output',
    value: 'MODE',
    choices: ['hold', 'drain'],
    fallback: 'hold',
    help: 'while no client is attached: hold output without loss, pausing the process, or drain it and keep the newest',
  },
  MAX_SESSIONS,
  MAX_PROCESSES,
  MAX_CONNECTIONS,
  {
    name: 'spawner',
    value: 'NAME',
    choices: SPAWNERS,
    help: 'how processes are started; the best for this machine unless named here or in FARHAND_SPAWNER',
  },
  { name: 'admin', help: 'let clients see and end the processes of every session (admin/* methods)' },
  { name: 'log-level', value: 'LEVEL', choices: LOG_LEVELS, fallback: 'info', help: 'what is logged to stderr' },
  { name: 'log-format', value: 'FORMAT', choices: ['text', 'json'], fallback: 'text', help: 'how it is written' },
  { name: 'hint', help: 'print a first thing to try to stderr' },
];

export const SERVE_HELP = `Usage: farhand serve [options]      (also: farhand exec-server [options])

Runs processes for clients that speak the Codex exec-server protocol. Prints one line, the URL, to stdout.

Options:
${helpFor(SERVE_OPTIONS)}

Durations: 500ms, 30s, 10m, 2h. Sizes: 4096, 64KiB, 1MiB, 2GiB. Stop with Ctrl-C or SIGTERM: every process is ended.
`;

/** What every transport needs. Secrets are read here and never kept in the environment. */
export function readServerOptions(options: ParsedOptions, log: Log): EngineOptions {
  const tokenFile = options.text('auth-token-file');
  return {
    version: VERSION,
    spawner: readSpawner(options),
    environment: process.env,
    cwd: process.cwd(),
    log,
    admin: options.has('admin'),
    authToken: tokenFile === undefined ? undefined : readToken(tokenFile),
    detachedOutput: options.text('detached-output') === 'drain' ? 'drain' : 'hold',
    ...defined({
      concurrentRequests: parseCount(CONCURRENT, options.text('concurrent-requests')),
      sessionGraceMs: parseDuration(GRACE, options.text('session-grace')),
      retainBytes: parseSize(RETAIN, options.text('retain-bytes')),
      maxSessions: parseCount(MAX_SESSIONS, options.text('max-sessions')),
      maxProcesses: parseCount(MAX_PROCESSES, options.text('max-processes')),
    }),
  };
}

/** The flag, else the variable; undefined lets the machine decide. */
export function readSpawner(options: ParsedOptions): SpawnerName | undefined {
  const wanted = options.text('spawner') ?? process.env.FARHAND_SPAWNER;
  if (wanted === undefined || wanted === '') return undefined;
  const known = SPAWNERS.find((name) => name === wanted);
  if (!known)
    throw new UsageError(`invalid value '${wanted}' for FARHAND_SPAWNER\n  [possible values: ${SPAWNERS.join(', ')}]`);
  return known;
}

export function readMaxConnections(options: ParsedOptions): number | undefined {
  return parseCount(MAX_CONNECTIONS, options.text('max-connections'));
}

export function readAuth(options: ParsedOptions, listener: 'websocket' | 'stdio'): AuthPolicy | undefined {
  const mode = options.text('ws-auth');
  return resolveWebSocketAuth(
    {
      wsAuth: mode === 'capability-token' || mode === 'signed-bearer-token' ? mode : undefined,
      wsTokenFile: options.text('ws-token-file'),
      wsTokenSha256: options.text('ws-token-sha256'),
      wsSharedSecretFile: options.text('ws-shared-secret-file'),
      wsIssuer: options.text('ws-issuer'),
      wsAudience: options.text('ws-audience'),
      wsMaxClockSkewSeconds: parseWhole(SKEW, options.text('ws-max-clock-skew-seconds')),
    },
    { cwd: process.cwd(), readFile: readFileSync, listener },
  );
}

export function readTls(options: ParsedOptions): { cert: Buffer; key: Buffer } | undefined {
  const cert = options.text('tls-cert');
  const key = options.text('tls-key');
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) throw new UsageError('--tls-cert and --tls-key go together');
  return { cert: readFileSync(cert), key: readFileSync(key) };
}

function readToken(path: string): string {
  const token = readFileSync(path, 'utf8').trim();
  if (token === '') throw new Error(`auth token file ${path} must not be empty`);
  return token;
}

function defined<T extends object>(record: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
