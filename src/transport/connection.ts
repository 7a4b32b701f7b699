/**
 * What every transport yields: one duplex stream of messages to one peer. Nothing above this file knows which
 * transport it is. A connection never decides what a message means.
 */
import type { Frame, Message } from '../wire/message.ts';

/** Why a connection ended. `clean` ends carry no reason text. */
export type CloseReason = { type: 'clean' } | { type: 'lost'; text: string };

export interface Connection {
  /** Names the peer in error texts, e.g. `exec-server websocket 127.0.0.1:40000`. */
  readonly label: string;
  /**
   * Messages in arrival order; ends when the connection ends. Iterate once. A `malformed` message's detail carries the
   * transport's prefix already, so it can be answered as it is. Reading from the socket stops while the consumer is
   * behind by more than the transport's queue limit.
   */
  readonly incoming: AsyncIterable<Message>;
  /** Resolves when the connection has ended, for whatever reason. Never rejects. */
  readonly closed: Promise<CloseReason>;
  /** True once `closed` is settled or about to be. Sending is then a no-op. */
  readonly isClosed: boolean;
  /** Queues one message. Never throws and never waits; look at `congested` and await `drained()` to be polite. */
  send(frame: Frame): void;
  /** True while more than the high-water mark is queued; false again only below the low-water mark. */
  readonly congested: boolean;
  /** Resolves once not congested, or closed. */
  drained(): Promise<void>;
  /**
   * Resolves true when the peer is known to have read everything sent before this call, false when the connection
   * ended first. On transports without acknowledgements (stdio) it resolves when the bytes have left this process.
   */
  confirm(): Promise<boolean>;
  /** `drop` cuts the stream without a farewell; `end` says goodbye where the transport has a way. Idempotent. */
  close(how: 'end' | 'drop', text?: string): Promise<void>;
}
