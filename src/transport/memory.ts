/**
 * Two connections joined in this process. They carry encoded text and decode it on the other side, so whatever works
 * here works on a wire. There is no socket to be slow: the bytes the other side's consumer has not taken count as queued.
 */
import { deferred } from '../util/deferred.ts';
import type { Frame, Message } from '../wire/message.ts';
import type { CloseReason, Connection } from './connection.ts';
import { DeliveryCount } from './delivery-count.ts';
import { Inbox } from './inbox.ts';
import { SendGate } from './send-gate.ts';

const LABEL = 'exec-server memory';
const CLEAN: CloseReason = { type: 'clean' };
const DROPPED: CloseReason = {
  type: 'lost',
  text: `failed to read JSON-RPC message from ${LABEL}: dropped by the peer`,
};

/** Both ends of a new connection. Closing either ends both. */
export function memoryPair(): [Connection, Connection] {
  const toFirst = new Lane();
  const toSecond = new Lane();
  const closeFirst = deferred<CloseReason>();
  const closeSecond = deferred<CloseReason>();
  const end = (first: CloseReason, second: CloseReason): void => {
    toFirst.end();
    toSecond.end();
    closeFirst.resolve(first);
    closeSecond.resolve(second);
  };
  return [
    new MemoryConnection(toFirst, toSecond, closeFirst.promise, (how) => end(CLEAN, how === 'end' ? CLEAN : DROPPED)),
    new MemoryConnection(toSecond, toFirst, closeSecond.promise, (how) => end(how === 'end' ? CLEAN : DROPPED, CLEAN)),
  ];
}

/** One direction: what one end sent and the other end's consumer has not taken yet. */
class Lane {
  readonly gate = new SendGate();
  readonly deliveries = new DeliveryCount();
  readonly inbox = new Inbox({
    malformedPrefix: `failed to parse JSON-RPC message from ${LABEL}: `,
    pause: () => {}, // Nothing is read from anywhere; the sender's gate does the slowing down.
    resume: () => {},
    onTaken: () => {
      this.deliveries.arrived();
      this.gate.update(this.inbox.queuedBytes);
    },
  });
  #ended: boolean = false;

  get ended(): boolean {
    return this.#ended;
  }

  send(frame: Frame): void {
    if (this.#ended) return;
    this.deliveries.sent();
    this.inbox.accept(frame);
    this.gate.update(this.inbox.queuedBytes);
  }

  end(): void {
    this.#ended = true;
    this.inbox.end();
    this.gate.end();
    this.deliveries.end();
  }
}

class MemoryConnection implements Connection {
  readonly label = LABEL;
  readonly closed: Promise<CloseReason>;
  readonly #from: Lane;
  readonly #to: Lane;
  readonly #end: (how: 'end' | 'drop') => void;

  constructor(from: Lane, to: Lane, closed: Promise<CloseReason>, end: (how: 'end' | 'drop') => void) {
    this.#from = from;
    this.#to = to;
    this.closed = closed;
    this.#end = end;
  }

  get incoming(): AsyncIterable<Message> {
    return this.#from.inbox.messages;
  }

  get isClosed(): boolean {
    return this.#to.ended;
  }

  get congested(): boolean {
    return this.#to.gate.congested;
  }

  drained(): Promise<void> {
    return this.#to.gate.drained();
  }

  send(frame: Frame): void {
    this.#to.send(frame);
  }

  confirm(): Promise<boolean> {
    return this.#to.deliveries.confirm();
  }

  async close(how: 'end' | 'drop'): Promise<void> {
    this.#end(how);
    await this.closed;
  }
}
