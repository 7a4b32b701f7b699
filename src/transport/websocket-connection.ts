/**
 * One open WebSocket as a Connection, the same on both sides: framing, back-pressure both ways, confirmation and
 * keep-alive by ping, and the end. It neither accepts nor dials, and knows nothing of HTTP or tokens.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { CLOSE_HANDSHAKE_TIMEOUT_MS, MAX_SILENT_PINGS, PING_INTERVAL_MS } from '../limits.ts';
import { deferred } from '../util/deferred.ts';
import { osErrorText } from '../util/os-error.ts';
import type { Frame, Message } from '../wire/message.ts';
import type { CloseReason, Connection } from './connection.ts';
import { FrameWriter } from './frame-writer.ts';
import { Inbox } from './inbox.ts';
import { LifeSigns } from './life-signs.ts';
import { PingLedger } from './ping-ledger.ts';
import { SendGate } from './send-gate.ts';
import { TurnCork } from './turn-cork.ts';

const OPEN = 1;
const NO_CLOSE_FRAME = 1006;
const MAX_CLOSE_TEXT_BYTES = 123;
/** Pongs on their way out; while there are so many only the latest ping is remembered, as the RFC allows. */
const MAX_PONGS_IN_FLIGHT = 16;
/** What `close('end')` puts into the close frame: a server goes away, a client is done. */
const END_CODES = { server: 1001, client: 1000 };
const TEXT_FRAME = { binary: false, compress: false };

export interface WebSocketConnectionOptions {
  label: string;
  role: 'server' | 'client';
  pingIntervalMs?: number | undefined;
}

type State = { type: 'open' } | { type: 'ending'; reason: CloseReason } | { type: 'closed' };

export class WebSocketConnection implements Connection {
  readonly label: string;
  readonly #options: WebSocketConnectionOptions;
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #inbox: Inbox;
  readonly #gate = new SendGate();
  /** How frames leave: a client has to mask them, which the library does; a server writes them itself, joined. */
  readonly #sending: { type: 'library'; cork: TurnCork } | { type: 'own'; writer: FrameWriter };
  readonly #pings = new PingLedger();
  readonly #lifeSigns: LifeSigns;
  readonly #keepAlive: NodeJS.Timeout;
  readonly #closed = deferred<CloseReason>();
  readonly #onWritten = (): void => this.#gate.update(this.#queuedBytes);
  #state: State = { type: 'open' };
  #endTimer: NodeJS.Timeout | undefined;
  #sentBytes = 0;
  #pongsInFlight = 0;
  #latePing: Buffer | undefined;

  /** Takes over an open WebSocket and the socket beneath it, in the turn in which it opened. */
  constructor(ws: WebSocket, socket: Socket, options: WebSocketConnectionOptions) {
    this.label = options.label;
    this.#options = options;
    this.#ws = ws;
    this.#socket = socket;
    this.#sending =
      options.role === 'server'
        ? { type: 'own', writer: new FrameWriter(socket, () => ws.readyState === OPEN, this.#onWritten) }
        : { type: 'library', cork: new TurnCork(socket) };
    this.#inbox = new Inbox({
      malformedPrefix: `failed to parse websocket JSON-RPC message from ${options.label}: `,
      pause: () => ws.pause(),
      resume: () => ws.resume(),
    });
    const pingIntervalMs = options.pingIntervalMs ?? PING_INTERVAL_MS;
    this.#lifeSigns = new LifeSigns(pingIntervalMs);
    this.#keepAlive = setInterval(() => this.#checkLife(), pingIntervalMs).unref();
    // A response followed by a notification would otherwise wait 40 ms for an acknowledgement.
    socket.setNoDelay(true);
    this.#listen();
  }

  get incoming(): AsyncIterable<Message> {
    return this.#inbox.messages;
  }

  get closed(): Promise<CloseReason> {
    return this.#closed.promise;
  }

  get isClosed(): boolean {
    return this.#state.type !== 'open' || this.#ws.readyState !== OPEN;
  }

  get congested(): boolean {
    return this.#gate.congested;
  }

  drained(): Promise<void> {
    return this.#gate.drained();
  }

  send(frame: Frame): void {
    if (this.isClosed) return;
    if (this.#sending.type === 'own') this.#sentBytes += this.#sending.writer.add(frame);
    else {
      this.#sending.cork.hold();
      this.#ws.send(frame, TEXT_FRAME, this.#onWritten);
      this.#sentBytes += frame.length;
      this.#sending.cork.added(frame.length);
    }
    this.#gate.update(this.#queuedBytes);
  }

  confirm(): Promise<boolean> {
    if (this.isClosed) return Promise.resolve(false);
    const { payload, answered } = this.#pings.issueAwaited(this.#sentBytes);
    this.#ping(payload);
    return answered;
  }

  async close(how: 'end' | 'drop', text = ''): Promise<void> {
    if (this.#state.type === 'open') this.#state = { type: 'ending', reason: { type: 'clean' } };
    this.#inbox.end();
    if (how === 'drop') this.#ws.terminate();
    else {
      this.#flush();
      this.#ws.close(END_CODES[this.#options.role], toCloseText(text));
      this.#ws.resume(); // The peer's close frame may be behind messages that nobody will take any more.
    }
    await this.#closed.promise;
  }

  get #queuedBytes(): number {
    const pending = this.#sending.type === 'own' ? this.#sending.writer.pendingBytes : 0;
    return pending + this.#ws.bufferedAmount;
  }

  /** A pong speaks for what was sent before its ping, so that has to leave first. */
  #ping(payload: string): void {
    this.#flush();
    this.#ws.ping(payload);
  }

  #flush(): void {
    if (this.#sending.type === 'own') this.#sending.writer.flush();
  }

  #listen(): void {
    const ws = this.#ws;
    ws.on('message', (data) => {
      // With the library's default settings every message is one Buffer; the other types are for other settings.
      if (Buffer.isBuffer(data)) this.#inbox.accept(data);
    });
    ws.on('ping', (payload) => this.#answerPing(payload));
    ws.on('pong', (payload) => this.#pings.pong(payload.toString('latin1')));
    ws.on('error', (error) => this.#fail('read', error));
    ws.on('close', (code) => this.#settle(code));
    this.#socket.on('error', (error: NodeJS.ErrnoException) =>
      this.#fail(error.syscall === 'write' ? 'write' : 'read', error),
    );
    // A peer that has ended its half is not waited for: what we still have for it may never leave.
    this.#socket.once('end', () => {
      this.#endTimer = setTimeout(() => ws.terminate(), CLOSE_HANDSHAKE_TIMEOUT_MS).unref();
    });
  }

  #answerPing(payload: Buffer): void {
    if (this.#ws.readyState !== OPEN) return;
    if (this.#pongsInFlight >= MAX_PONGS_IN_FLIGHT) {
      this.#latePing = Buffer.from(payload);
      return;
    }
    this.#pongsInFlight += 1;
    this.#ws.pong(payload, undefined, () => {
      this.#pongsInFlight -= 1;
      const late = this.#latePing;
      this.#latePing = undefined;
      if (late !== undefined) this.#answerPing(late);
    });
  }

  #checkLife(): void {
    const alive = this.#lifeSigns.isAlive({
      receivedBytes: this.#socket.bytesRead,
      handedOverBytes: this.#socket.bytesWritten - this.#socket.writableLength,
      backlogBytes: this.#socket.writableLength,
      unreadBytes: this.#pings.unreadBytes(this.#sentBytes),
      paused: this.#inbox.paused,
    });
    if (alive) {
      if (!this.isClosed) this.#ping(this.#pings.issue(this.#sentBytes));
      return;
    }
    this.#fail('read', new Error(`no sign of life after ${MAX_SILENT_PINGS} pings`));
    this.#ws.terminate();
  }

  /** Remembers the first cause; the library closes the socket after each of them. */
  #fail(direction: 'read' | 'write', cause: Error): void {
    if (this.#state.type !== 'open') return;
    const what = direction === 'read' ? 'read websocket JSON-RPC message from' : 'write websocket JSON-RPC message to';
    this.#state = {
      type: 'ending',
      reason: { type: 'lost', text: `failed to ${what} ${this.label}: ${osErrorText(cause)}` },
    };
  }

  #settle(code: number): void {
    if (code === NO_CLOSE_FRAME) this.#fail('read', new Error('connection reset without closing handshake'));
    const reason: CloseReason = this.#state.type === 'ending' ? this.#state.reason : { type: 'clean' };
    this.#state = { type: 'closed' };
    clearInterval(this.#keepAlive);
    clearTimeout(this.#endTimer);
    this.#inbox.end();
    this.#pings.end();
    this.#gate.end();
    this.#closed.resolve(reason);
  }
}

/** As much of the text as a close frame holds, cut between characters. */
function toCloseText(text: string): Buffer {
  const bytes = Buffer.alloc(MAX_CLOSE_TEXT_BYTES);
  const { written } = new TextEncoder().encodeInto(text, bytes);
  return bytes.subarray(0, written);
}
