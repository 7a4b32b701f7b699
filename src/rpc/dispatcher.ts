/**
 * Serves one connection: message -> row of the contract -> params checked -> gate -> lane -> handler -> answer. It owns
 * the requests in flight and nothing else; what a method does is the handler's business.
 */
import { setMaxListeners } from 'node:events';
import { CODES, ExecError } from '../protocol/errors.ts';
import type { Notifications, Params, Requests, Row, Table, WireResult } from '../protocol/table.ts';
import type { Connection } from '../transport/connection.ts';
import { deferred } from '../util/deferred.ts';
import type { Log } from '../util/log.ts';
import { encodeError, encodeResponse } from '../wire/encode.ts';
import type { Message, RequestId } from '../wire/message.ts';
import { decodeParams } from './decode-params.ts';
import { Lanes, type Slot } from './lanes.ts';

/** One request in flight, as its handler sees it. */
export interface Call {
  /** Aborts when the connection ends: it ends the request, not what the request started. */
  readonly signal: AbortSignal;
  /** To be called before merely waiting, so that the requests behind go on. */
  leaveLane(): void;
  /**
   * Resolves when it is this answer's turn: large answers are built one at a time and only while the peer reads, however
   * many become ready together. The turn ends with the answer.
   */
  sendTurn(): Promise<void>;
  /** Runs right after the answer was sent, or would have been sent had the connection lived. */
  afterReply(step: () => void): void;
  /** Answers an earlier request that has not started with `reason`; false when no queued one matches. */
  cancelQueued(method: string, matches: (params: unknown) => boolean, reason: ExecError): boolean;
}

export type Handlers<T extends Table, C> = {
  [M in Requests<T>]: (params: Params<T, M>, context: C, call: Call) => WireResult<T, M> | Promise<WireResult<T, M>>;
};

/** A notification handler that throws ends the connection. */
export type NotificationHandlers<T extends Table, C> = {
  [M in Notifications<T>]: (params: Params<T, M>, context: C) => void;
};

export type Surface<T extends Table, C> = {
  table: T;
  handlers: Handlers<T, C>;
  notifications: NotificationHandlers<T, C>;
  /** Throws when the handshake does not allow this family yet. */
  gate(family: string, context: C): void;
};

export type DispatchOptions<T extends Table, C> = {
  surface: Surface<T, C>;
  context: C;
  concurrentRequests: number;
  log: Log;
};

type AnyHandler = (params: unknown, context: unknown, call: Call) => unknown;
type AnyNotificationHandler = (params: unknown, context: unknown) => void;
type Request = Extract<Message, { type: 'request' }>;
type QueuedTag = { method: string; params: unknown };

/** Resolves when the connection has ended; requests still in flight then are aborted, not awaited. */
export async function dispatch<T extends Table, C>(
  connection: Connection,
  options: DispatchOptions<T, C>,
): Promise<void> {
  const dispatcher = new Dispatcher(connection, options);
  try {
    await dispatcher.run();
  } finally {
    dispatcher.stop();
  }
}

class Dispatcher<T extends Table, C> {
  readonly #connection: Connection;
  readonly #surface: Surface<T, C>;
  readonly #context: C;
  readonly #log: Log;
  readonly #lanes: Lanes;
  readonly #concurrentRequests: number;
  readonly #abort = new AbortController();
  #turn: Promise<void> = Promise.resolve();

  constructor(connection: Connection, { surface, context, concurrentRequests, log }: DispatchOptions<T, C>) {
    this.#connection = connection;
    this.#surface = surface;
    this.#context = context;
    this.#log = log;
    this.#lanes = new Lanes({ width: concurrentRequests });
    this.#concurrentRequests = concurrentRequests;
    void connection.closed.then(() => this.stop()); // It never rejects. Whoever waits for room then gets it.
    setMaxListeners(0, this.#abort.signal); // One for each request that waits; their number has its own limit.
  }

  async run(): Promise<void> {
    for await (const message of this.#connection.incoming) {
      const inline = this.#take(message);
      if (inline !== undefined) await inline;
      if (this.#lanes.full) await this.#lanes.room();
      // A peer that sends without reading is not read from either, so its answers cannot pile up.
      if (this.#connection.congested) await this.#connection.drained();
    }
  }

  stop(): void {
    this.#lanes.clear();
    this.#abort.abort(new Error('connection closed'));
  }

  #take(message: Message): Promise<void> | undefined {
    switch (message.type) {
      case 'request':
        return this.#request(message);
      case 'malformed':
        this.#refuse(-1, new ExecError('invalidRequest', message.detail), 'malformed message');
        return undefined;
      case 'notification':
        return this.#notification(message.method, message.params);
      default:
        // The server asks nothing of its clients yet, so every answer is one it never asked for.
        return this.#drop(`unexpected ${message.type} for request id ${message.id}`);
    }
  }

  #request(message: Request): Promise<void> | undefined {
    const { id, method } = message;
    const row = Object.hasOwn(this.#surface.table, method) ? this.#surface.table[method] : undefined;
    if (!row?.result) {
      this.#refuse(id, new ExecError('unknownMethod', `unknown method \`${method}\``), method);
      return undefined;
    }
    let params: unknown;
    try {
      params = decodeParams(row, message.params);
      if (row.family !== undefined) this.#surface.gate(row.family, this.#context);
    } catch (error) {
      this.#refuse(id, error, method);
      return undefined;
    }
    if (row.lane === 'inline') return this.#run(id, method, params, { leave: () => {} });
    this.#enqueue(row, message, params);
    return undefined;
  }

  /** Says no without running anything. One at a time means in order, so a refusal waits for its turn then. */
  #refuse(id: RequestId, error: unknown, method: string): void {
    if (this.#concurrentRequests > 1) {
      this.#fail(id, error, method);
      return;
    }
    const run = (): undefined => {
      this.#fail(id, error, method);
    };
    const weight = error instanceof Error ? error.message.length : 0; // Some texts repeat what was sent.
    this.#lanes.add('ordinary', { tag: undefined, weight, run, cancelled: run });
  }

  #enqueue(row: Row, { id, method, size = 0 }: Request, params: unknown): void {
    const tag: QueuedTag = { method, params };
    this.#lanes.add(row.lane === 'control' ? 'control' : 'ordinary', {
      tag,
      weight: size,
      run: (slot) => this.#run(id, method, params, slot),
      cancelled: (reason) => this.#fail(id, reason, method),
    });
  }

  #run(id: RequestId, method: string, params: unknown, slot: Slot): Promise<void> | undefined {
    const after: (() => void)[] = [];
    const finish = (reply: () => void): void => {
      reply();
      for (const step of after) this.#attempt(step);
    };
    const turn = (): Promise<void> => this.#takeTurn((release) => after.push(release));
    let ownTurn: Promise<void> | undefined;
    const call: Call = {
      sendTurn: () => {
        ownTurn ??= turn();
        return ownTurn;
      },
      signal: this.#abort.signal,
      leaveLane: () => slot.leave(),
      afterReply: (step) => after.push(step),
      cancelQueued: (other, matches, reason) =>
        this.#lanes.cancelQueued((tag) => isQueued(tag, other) && matches(tag.params), reason),
    };
    try {
      // The row proved the params; the table's type ties each handler to its row.
      const handler = this.#surface.handlers[method as Requests<T>] as AnyHandler;
      const result = handler(params, this.#context, call);
      if (!(result instanceof Promise)) {
        finish(() => this.#reply(id, result, method));
        return undefined;
      }
      return result.then(
        async (value: unknown) => {
          if (this.#connection.congested) await call.sendTurn();
          finish(() => this.#reply(id, value, method));
        },
        (error: unknown) => finish(() => this.#fail(id, error, method)),
      );
    } catch (error) {
      finish(() => this.#fail(id, error, method));
      return undefined;
    }
  }

  /** A step that fails must neither keep the others from running nor the lane from going on. */
  #attempt(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#log.error('a step after an answer failed', { error: String(error) });
    }
  }

  /** First come, first served; `onRelease` gets what lets the next one go on. */
  async #takeTurn(onRelease: (release: () => void) => void): Promise<void> {
    const before = this.#turn;
    const mine = deferred();
    this.#turn = mine.promise;
    onRelease(mine.resolve);
    await before;
    while (this.#connection.congested) await this.#connection.drained();
  }

  #notification(method: string, params: unknown): Promise<void> | undefined {
    const row = Object.hasOwn(this.#surface.table, method) ? this.#surface.table[method] : undefined;
    if (!row || row.result) return this.#drop(`unexpected notification method: ${method}`);
    try {
      const handler = this.#surface.notifications[method as Notifications<T>] as AnyNotificationHandler;
      handler(decodeParams(row, params), this.#context);
    } catch (error) {
      return this.#drop(error instanceof Error ? error.message : String(error));
    }
    return undefined;
  }

  #drop(reason: string): Promise<void> {
    this.#log.warn('closing connection after protocol error', { peer: this.#connection.label, reason });
    return this.#connection.close('drop', reason);
  }

  #reply(id: RequestId, result: unknown, method: string): void {
    let frame: string;
    try {
      frame = encodeResponse(id, result);
    } catch (error) {
      this.#fail(id, error, method); // An answer longer than a string can be, for one.
      return;
    }
    this.#connection.send(frame);
  }

  #fail(id: RequestId, error: unknown, method: string): void {
    if (error instanceof ExecError) {
      this.#connection.send(encodeError(id, { code: CODES[error.kind], message: error.message }));
      return;
    }
    if (this.#abort.signal.aborted) return; // The peer is gone; what was aborted with it is not a failure of ours.
    this.#log.error('request failed unexpectedly', {
      method,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    this.#connection.send(encodeError(id, { code: CODES.internal, message: 'internal error; see the server log' }));
  }
}

function isQueued(tag: unknown, method: string): tag is QueuedTag {
  return typeof tag === 'object' && tag !== null && 'method' in tag && tag.method === method;
}
