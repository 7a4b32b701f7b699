/** A bare client for tests: sends what it is told, keeps what comes back. It has no opinion about the protocol. */
import type { Connection } from '../../src/transport/connection.ts';
import { encodeNotification, encodeRequest } from '../../src/wire/encode.ts';
import type { Message, RequestId } from '../../src/wire/message.ts';

export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** How a request was refused, as `code text`; 'no failure' when it was not. */
export async function failure(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'no failure',
    (error: unknown) => (error instanceof RpcError ? `${error.code} ${error.message}` : String(error)),
  );
}

export type Notification = { method: string; params: Record<string, unknown> };
type Waiter = { accepts(message: Message): boolean; resolve(message: Message): void; reject(error: Error): void };

export class TestClient implements AsyncDisposable {
  readonly connection: Connection;
  /** Everything received, in order. */
  readonly messages: Message[] = [];
  sessionId = '';
  readonly #waiters = new Set<Waiter>();
  readonly #reading: Promise<void>;
  #nextId = 1;

  constructor(connection: Connection) {
    this.connection = connection;
    this.#reading = this.#read();
  }

  /** Sends a request; rejects with RpcError when the server says no. */
  async request<T = Record<string, unknown>>(method: string, params?: unknown): Promise<T> {
    const id = this.#nextId++;
    const answer = this.answerTo(id);
    this.connection.send(encodeRequest(id, method, params));
    const message = await answer;
    if (message.type === 'error') throw new RpcError(message.error.code, message.error.message);
    if (message.type !== 'response') throw new Error(`no answer but ${message.type}`);
    return message.result as T;
  }

  /** The next response or error with this id. */
  answerTo(id: RequestId): Promise<Message> {
    return this.next((message) => (message.type === 'response' || message.type === 'error') && message.id === id);
  }

  notify(method: string, params: unknown = {}): void {
    this.connection.send(encodeNotification(method, params));
  }

  /** The next message to arrive that is accepted. */
  next(accepts: (message: Message) => boolean): Promise<Message> {
    return new Promise((resolve, reject) => {
      this.#waiters.add({ accepts, resolve, reject });
    });
  }

  /** The first notification, past or coming, that is accepted. */
  async notification(accepts: (notification: Notification) => boolean): Promise<Notification> {
    const isIt = (message: Message): boolean => message.type === 'notification' && accepts(toNotification(message));
    return toNotification(this.messages.find(isIt) ?? (await this.next(isIt)));
  }

  async initialize(resumeSessionId?: string, more: Record<string, unknown> = {}): Promise<this> {
    const result = await this.request<{ sessionId: string }>('initialize', {
      clientName: 'test',
      resumeSessionId: resumeSessionId ?? null,
      ...more,
    });
    this.sessionId = result.sessionId;
    this.notify('initialized');
    return this;
  }

  async start(processId: string, argv: readonly string[], more: Record<string, unknown> = {}): Promise<void> {
    await this.request('process/start', {
      processId,
      argv,
      cwd: 'file:///tmp',
      env: { PATH: process.env.PATH ?? '/bin:/usr/bin' },
      tty: false,
      ...more,
    });
  }

  /** Runs a shell command to its end. */
  async run(processId: string, script: string, more: Record<string, unknown> = {}): Promise<Finished> {
    await this.start(processId, ['sh', '-c', script], more);
    return await this.finished(processId);
  }

  /** Resolves when the process is closed, with all that was pushed. */
  async finished(processId: string): Promise<Finished> {
    await this.notification(({ method, params }) => method === 'process/closed' && params.processId === processId);
    const events = this.events(processId);
    return {
      stdout: this.output(processId, 'stdout'),
      stderr: this.output(processId, 'stderr'),
      pty: this.output(processId, 'pty'),
      exitCode: Number(events.find(({ method }) => method === 'process/exited')?.params.exitCode),
      seqs: events.map(({ params }) => Number(params.seq)),
    };
  }

  events(processId: string): Notification[] {
    return this.messages
      .filter((message) => message.type === 'notification')
      .map(toNotification)
      .filter(({ params }) => params.processId === processId);
  }

  output(processId: string, stream: string): string {
    const chunks = this.events(processId)
      .filter(({ method, params }) => method === 'process/output' && params.stream === stream)
      .map(({ params }) => Buffer.from(String(params.chunk), 'base64'));
    return Buffer.concat(chunks).toString();
  }

  /** Cuts the connection without a farewell. */
  async drop(): Promise<void> {
    await this.connection.close('drop');
    await this.#reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drop();
  }

  async #read(): Promise<void> {
    for await (const message of this.connection.incoming) {
      this.messages.push(message);
      for (const waiter of this.#waiters) {
        if (!waiter.accepts(message)) continue;
        this.#waiters.delete(waiter);
        waiter.resolve(message);
      }
    }
    for (const waiter of this.#waiters) waiter.reject(new Error('connection ended'));
    this.#waiters.clear();
  }
}

export type Finished = { stdout: string; stderr: string; pty: string; exitCode: number; seqs: number[] };

function toNotification(message: Message): Notification {
  if (message.type !== 'notification') throw new Error(`not a notification: ${message.type}`);
  return { method: message.method, params: message.params as Record<string, unknown> };
}
