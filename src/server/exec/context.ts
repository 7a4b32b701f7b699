/**
 * What the handlers of one exec connection share: the server's parts, and how far the handshake has come. The gate's
 * texts are the reference's.
 */
import { ExecError } from '../../protocol/errors.ts';
import type { Connection } from '../../transport/connection.ts';
import type { EnvironmentInfo } from './environment-info.ts';
import type { Session } from './session.ts';
import type { SessionRegistry } from './session-registry.ts';

/** Everything a server has one of. */
export type ExecServer = {
  registry: SessionRegistry;
  info: EnvironmentInfo;
  /** The server's own environment, from which children may inherit. */
  environment: Readonly<Record<string, string | undefined>>;
  /** When set, `initialize` must carry it. */
  authToken: string | undefined;
  /** Whether admin methods are allowed. */
  admin: boolean;
};

type Handshake =
  | { type: 'new' }
  | { type: 'initialized'; session: Session } // `initialize` was answered
  | { type: 'ready'; session: Session }; // and the client said `initialized`

export class ExecContext {
  readonly server: ExecServer;
  readonly connection: Connection;
  #handshake: Handshake = { type: 'new' };

  constructor(server: ExecServer, connection: Connection) {
    this.server = server;
    this.connection = connection;
  }

  get isNew(): boolean {
    return this.#handshake.type === 'new';
  }

  /** The session of a connection that passed the gate. */
  get session(): Session {
    if (this.#handshake.type === 'new') throw new Error('no session before initialize');
    return this.#handshake.session;
  }

  initialize(session: Session): void {
    this.#handshake = { type: 'initialized', session };
  }

  ready(): void {
    if (this.#handshake.type === 'new') throw new Error('received `initialized` notification before `initialize`');
    this.#handshake = { type: 'ready', session: this.#handshake.session };
  }

  /** Throws unless methods of this family may be used now. */
  gate(family: string): void {
    const handshake = this.#handshake;
    if (handshake.type === 'new') {
      throw new ExecError('invalidRequest', `client must call initialize before using ${family} methods`);
    }
    if (handshake.session.connection !== this.connection) {
      throw new ExecError('invalidRequest', 'session has been resumed by another connection');
    }
    if (handshake.type === 'initialized') {
      throw new ExecError('invalidRequest', `client must send initialized before using ${family} methods`);
    }
  }

  /** The connection is gone. */
  end(): void {
    if (this.#handshake.type !== 'new') this.server.registry.detach(this.#handshake.session, this.connection);
  }
}
