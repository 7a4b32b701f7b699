/**
 * One server: its sessions and the connections it serves, whatever transport they come from. Wiring only; `listen.ts`
 * brings the connections.
 */
import {
  CLOSED_RETENTION_MS,
  CONFIRM_TIMEOUT_MS,
  DEFAULT_CONCURRENT_REQUESTS,
  MAX_PROCESSES_PER_SESSION,
  MAX_SESSIONS,
  RESUME_PROBE_MS,
  RETAIN_BYTES,
  RETAIN_CHUNKS,
  SESSION_GRACE_MS,
  SHUTDOWN_MS,
} from '../limits.ts';
import type { Spawner } from '../process/spawner.ts';
import { dispatch } from '../rpc/dispatcher.ts';
import type { Connection } from '../transport/connection.ts';
import { type Log, SILENT_LOG } from '../util/log.ts';
import { ExecContext, type ExecServer } from './exec/context.ts';
import { readEnvironmentInfo } from './exec/environment-info.ts';
import { SessionRegistry } from './exec/session-registry.ts';
import { execSurface } from './exec/surface.ts';

export type ServerOptions = {
  spawner: Spawner;
  /** Our own version, told to clients. */
  version: string;
  /** The server's own environment; children inherit from it when their policy says so. */
  environment: Readonly<Record<string, string | undefined>>;
  cwd?: string | undefined;
  authToken?: string | undefined;
  /** Allows admin methods: every client may then see and end every process. */
  admin?: boolean;
  concurrentRequests?: number;
  /** How long a session without a connection lives; 0 ends it at once. */
  sessionGraceMs?: number;
  retainBytes?: number;
  retainChunks?: number;
  detachedOutput?: 'hold' | 'drain';
  maxSessions?: number;
  maxProcesses?: number;
  closedRetentionMs?: number;
  resumeProbeMs?: number;
  confirmTimeoutMs?: number;
  log?: Log;
};

export class ExecServerHost implements AsyncDisposable {
  readonly #server: ExecServer;
  readonly #registry: SessionRegistry;
  readonly #concurrentRequests: number;
  readonly #log: Log;
  readonly #connections = new Set<Connection>();
  readonly #serving = new Set<Promise<void>>();
  #stopping: Promise<void> | undefined;

  constructor(options: ServerOptions) {
    const { version, environment, cwd, spawner } = options;
    this.#log = options.log ?? SILENT_LOG;
    this.#concurrentRequests = options.concurrentRequests ?? DEFAULT_CONCURRENT_REQUESTS;
    this.#registry = new SessionRegistry({
      graceMs: options.sessionGraceMs ?? SESSION_GRACE_MS,
      maxSessions: options.maxSessions ?? MAX_SESSIONS,
      resumeProbeMs: options.resumeProbeMs ?? RESUME_PROBE_MS,
      spawner,
      log: this.#log,
      settings: {
        retainBytes: options.retainBytes ?? RETAIN_BYTES,
        retainChunks: options.retainChunks ?? RETAIN_CHUNKS,
        detachedOutput: options.detachedOutput ?? 'hold',
        maxProcesses: options.maxProcesses ?? MAX_PROCESSES_PER_SESSION,
        closedRetentionMs: options.closedRetentionMs ?? CLOSED_RETENTION_MS,
        confirmTimeoutMs: options.confirmTimeoutMs ?? CONFIRM_TIMEOUT_MS,
      },
    });
    this.#server = {
      registry: this.#registry,
      info: readEnvironmentInfo({ version, environment, cwd, admin: options.admin ?? false }),
      admin: options.admin ?? false,
      environment,
      authToken: options.authToken,
    };
  }

  /** Serves one connection until it ends. Never rejects. */
  serve(connection: Connection): Promise<void> {
    const serving = this.#serve(connection).finally(() => this.#serving.delete(serving));
    this.#serving.add(serving);
    return serving;
  }

  /** Ends every tree, tells the clients, closes their connections. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #serve(connection: Connection): Promise<void> {
    const context = new ExecContext(this.#server, connection);
    this.#connections.add(connection);
    this.#log.debug('connection opened', { peer: connection.label });
    try {
      await dispatch(connection, {
        surface: execSurface,
        context,
        concurrentRequests: this.#concurrentRequests,
        log: this.#log,
      });
    } catch (error) {
      this.#log.error('connection failed', { peer: connection.label, error: String(error) });
      await connection.close('drop');
    } finally {
      this.#connections.delete(connection);
      context.end();
      const end = await connection.closed;
      this.#log.debug('connection closed', {
        peer: connection.label,
        ...(end.type === 'lost' && { reason: end.text }),
      });
    }
  }

  async #stop(): Promise<void> {
    await within(this.#registry.endAll(), SHUTDOWN_MS);
    await Promise.all([...this.#connections].map((connection) => connection.close('end', 'server is stopping')));
    await Promise.all(this.#serving);
    // Detaching just now may have armed grace timers again.
    await within(this.#registry.endAll(), SHUTDOWN_MS);
  }
}

async function within(work: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}
