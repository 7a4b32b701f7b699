/** A client made of bare frames that has done the handshake. It reads only when it is asked to, and need not pong. */
import type { Socket } from 'node:net';
import { encodeRequest } from '../../../src/wire/encode.ts';
import { CLOSE, frame, PING, PONG, RawPeer, TEXT } from '../../support/raw-websocket.ts';

export type Answer = {
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: WireError;
};
type WireError = { code: number; message: string };

export function requestFrame(id: number, method: string, params?: unknown): Buffer {
  return frame(TEXT, encodeRequest(id, method, params));
}

/** Start params with every required member, for a command that needs nothing. */
export function startParams(processId: string, argv: readonly string[], more: Record<string, unknown> = {}): object {
  return { processId, argv, cwd: 'file:///tmp', env: { PATH: '/usr/local/bin:/usr/bin:/bin' }, tty: false, ...more };
}

export class RawSession implements AsyncDisposable {
  readonly peer: RawPeer;
  sessionId = '';
  /** Whether pings are answered as they are read. */
  answersPings: boolean = false;
  #nextId = 1;

  private constructor(peer: RawPeer) {
    this.peer = peer;
  }

  static async open(url: string, clientName = 'raw'): Promise<RawSession> {
    const session = new RawSession(await RawPeer.open(url));
    const { result } = await session.request('initialize', { clientName });
    session.sessionId = String(result?.sessionId);
    session.peer.write(frame(TEXT, '{"method":"initialized"}'));
    return session;
  }

  /** Sends and reads on until the answer is there. */
  async request(method: string, params?: unknown): Promise<Answer> {
    const id = this.send(method, params);
    return await this.until((answer) => answer.id === id);
  }

  /** Sends and does not read; returns the id. */
  send(method: string, params?: unknown): number {
    const id = this.#nextId++;
    this.peer.write(requestFrame(id, method, params));
    return id;
  }

  /** Reads up to the first message that is accepted. */
  async until(accepts: (answer: Answer) => boolean): Promise<Answer> {
    for (;;) {
      const answer = await this.next();
      if (answer === undefined) throw new Error('the server closed the connection');
      if (accepts(answer)) return answer;
    }
  }

  /** The next message, or undefined when the server has closed. */
  async next(): Promise<Answer | undefined> {
    for (;;) {
      const received = await this.peer.next();
      if (received === undefined || received.opcode === CLOSE) return undefined;
      if (received.opcode === TEXT) return toAnswer(received.payload);
      if (received.opcode === PING && this.answersPings) this.peer.write(frame(PONG, received.payload));
    }
  }

  /** Reads and forgets up to the next pong. */
  async pong(): Promise<void> {
    for (let opcode = 0; opcode !== PONG; ) {
      const received = await this.peer.next();
      if (received === undefined) throw new Error('the server closed the connection');
      opcode = received.opcode;
    }
  }

  /** Reads and forgets until the server has closed. */
  async closedByServer(): Promise<void> {
    this.peer.socket.resume();
    await closed(this.peer.socket);
  }

  /** Hangs up in the rudest way there is. */
  async reset(): Promise<void> {
    this.peer.socket.resetAndDestroy();
    await closed(this.peer.socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.peer[Symbol.asyncDispose]();
  }
}

/** Resolves when the socket is closed, for whatever reason. */
export async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

function toAnswer(payload: Buffer): Answer {
  return JSON.parse(payload.toString());
}
