/**
 * Every session of a server by id: opens, resumes, and ends them when their grace is over. A session that looks attached
 * is probed before a resume is refused, because a half-open connection must not lock its owner out.
 */
import { randomUUID } from 'node:crypto';
import { RESUME_PROBE_MS } from '../../limits.ts';
import type { Spawner } from '../../process/spawner.ts';
import { ExecError } from '../../protocol/errors.ts';
import type { Connection } from '../../transport/connection.ts';
import type { Log } from '../../util/log.ts';
import { Session, type SessionSettings } from './session.ts';

export type RegistryOptions = {
  settings: SessionSettings;
  graceMs: number;
  maxSessions: number;
  resumeProbeMs?: number;
  spawner: Spawner;
  log: Log;
};

export class SessionRegistry {
  readonly #options: RegistryOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #graceTimers = new Map<Session, NodeJS.Timeout>();
  readonly #endings = new Set<Promise<void>>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** A new session with this connection attached. */
  open(connection: Connection): Session {
    const { settings, maxSessions, spawner, log } = this.#options;
    if (this.#sessions.size >= maxSessions) {
      throw new ExecError(
        'internal',
        `session limit reached (${maxSessions}); retry when another client has gone, or start the server with a higher --max-sessions`,
      );
    }
    const session = new Session(randomUUID(), settings, spawner, log);
    this.#sessions.set(session.id, session);
    session.attach(connection);
    return session;
  }

  /** Attaches this connection to an old session; another live connection on it is a refusal. */
  async resume(id: string, newcomer: Connection): Promise<Session> {
    for (;;) {
      const session = this.#sessions.get(id);
      if (!session) throw new ExecError('invalidRequest', `unknown session id ${id}`);
      const { connection } = session;
      if (!connection) {
        this.#attach(session, newcomer); // Without an await since the look, or two newcomers could both win.
        return session;
      }
      if (await this.#answers(connection)) {
        throw new ExecError('alreadyAttached', `session ${id} is already attached to another connection`);
      }
      if (session.connection !== connection) continue; // It changed while we looked.
      this.#options.log.warn('the attached connection does not answer; its session is taken over', { session: id });
      session.detach(connection);
      await connection.close('drop', 'session resumed by another connection');
    }
  }

  /** The connection is gone: the session waits for a resume, and ends when nobody comes. */
  detach(session: Session, connection: Connection): void {
    session.detach(connection);
    if (session.connection || this.#graceTimers.has(session) || !this.#sessions.has(session.id)) return;
    this.#graceTimers.set(
      session,
      setTimeout(() => void this.end(session), this.#options.graceMs),
    );
  }

  /** Forgets the session and ends its processes. */
  async end(session: Session): Promise<void> {
    clearTimeout(this.#graceTimers.get(session));
    this.#graceTimers.delete(session);
    this.#sessions.delete(session.id);
    const ending = session.end();
    this.#endings.add(ending);
    await ending;
    this.#endings.delete(ending);
  }

  all(): Iterable<Session> {
    return this.#sessions.values();
  }

  async endAll(): Promise<void> {
    await Promise.all([...[...this.#sessions.values()].map((session) => this.end(session)), ...this.#endings]);
  }

  #attach(session: Session, connection: Connection): void {
    clearTimeout(this.#graceTimers.get(session));
    this.#graceTimers.delete(session);
    session.attach(connection);
  }

  async #answers(connection: Connection): Promise<boolean> {
    const { resumeProbeMs = RESUME_PROBE_MS } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), resumeProbeMs);
    });
    try {
      return await Promise.race([connection.confirm(), silence]);
    } finally {
      clearTimeout(timer);
    }
  }
}
