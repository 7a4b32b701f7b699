/**
 * Listens for WebSockets on an IP address, with or without TLS, and hands each accepted one over as a Connection. Owns
 * every socket it accepted until that socket is gone. A failed accept is logged and never ends the listener.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocketServer } from 'ws';
import { HTTP_HEAD_TIMEOUT_MS, MAX_CONNECTIONS } from '../limits.ts';
import { deferred } from '../util/deferred.ts';
import { type Log, SILENT_LOG } from '../util/log.ts';
import { osErrorText } from '../util/os-error.ts';
import type { AuthPolicy } from './auth.ts';
import type { Connection } from './connection.ts';
import { answerHead, emptyAnswer, type HttpAnswer, notAnUpgrade, tooManyConnections } from './http-surface.ts';
import { formatAddress } from './listen-url.ts';
import { WebSocketConnection } from './websocket-connection.ts';
import { loadWebSocketLibrary } from './websocket-library.ts';

/** Sockets beyond the connection limit that may be open for a moment, to be told so or to ask for readiness. */
const SPARE_SOCKETS = 64;

/** Statuses for requests the HTTP parser gave up on; other errors of the parser are 400. */
const CLIENT_ERRORS: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

export interface WebSocketListenerOptions {
  /** An IP address. */
  host: string;
  /** 0 asks for any free port. */
  port: number;
  auth?: AuthPolicy | undefined;
  tls?: { cert: string | Uint8Array; key: string | Uint8Array } | undefined;
  maxConnections?: number | undefined;
  log?: Log | undefined;
  pingIntervalMs?: number | undefined;
  headTimeoutMs?: number | undefined;
  /** Must begin to read `incoming` on its own; what it throws is its own fault. */
  onConnection(connection: Connection): void;
}

export interface WebSocketListener extends AsyncDisposable {
  /** `ws://IP:PORT` or `wss://IP:PORT` with the actual port. */
  readonly url: string;
  /** Frees the port and takes no new connections; those that are open live on. */
  stopAccepting(): void;
  /** Says goodbye on every open connection and resolves when no socket is left. */
  close(): Promise<void>;
}

/** Resolves once the port is open; rejects with the operating system's reason. */
export async function openWebSocketListener(options: WebSocketListenerOptions): Promise<WebSocketListener> {
  const server = await createHttpServer(options);
  const listener = new Listener(server, options);
  server.listen(options.port, options.host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new Error(osErrorText(cause), { cause });
  }
  listener.start();
  return listener;
}

async function createHttpServer({
  tls,
  headTimeoutMs = HTTP_HEAD_TIMEOUT_MS,
}: WebSocketListenerOptions): Promise<Server> {
  const timeouts = {
    headersTimeout: headTimeoutMs,
    requestTimeout: headTimeoutMs,
    connectionsCheckingInterval: Math.ceil(headTimeoutMs / 2),
  };
  if (tls === undefined) return createServer(timeouts);
  const https = await import('node:https');
  const cert = Buffer.from(tls.cert);
  const key = Buffer.from(tls.key);
  return https.createServer({ ...timeouts, handshakeTimeout: headTimeoutMs, cert, key });
}

class Listener implements WebSocketListener {
  readonly #server: Server;
  readonly #options: WebSocketListenerOptions;
  readonly #limit: number;
  readonly #log: Log;
  /** Open sockets and where they come from: a socket that was reset no longer knows. */
  readonly #sockets = new Map<Duplex, string>();
  readonly #connections = new Set<WebSocketConnection>();
  readonly #stopped = deferred();
  #state: 'accepting' | 'stopping' = 'accepting';
  #url = '';
  #takenSlots = 0;
  #webSocketServer: Promise<WebSocketServer> | undefined;

  constructor(server: Server, options: WebSocketListenerOptions) {
    this.#server = server;
    this.#options = options;
    this.#limit = options.maxConnections ?? MAX_CONNECTIONS;
    this.#log = options.log ?? SILENT_LOG;
    server.maxConnections = this.#limit + SPARE_SOCKETS;
    const onSocket = (socket: Socket): void => {
      this.#sockets.set(socket, formatAddress(socket.remoteAddress ?? 'unknown', socket.remotePort ?? 0));
      socket.once('close', () => this.#sockets.delete(socket));
    };
    server.on('connection', onSocket);
    server.on('secureConnection', onSocket); // With TLS requests come on a second socket, above the first.
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const { status, headers, body } = this.#answer(request) ?? notAnUpgrade;
      response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
    });
    server.on('upgrade', (request: IncomingMessage, _socket: Duplex, head: Buffer) => this.#onUpgrade(request, head));
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => this.#onClientError(error, socket));
    server.on('drop', () => this.#log.warn('websocket connection refused', { reason: 'too many open sockets' }));
  }

  get url(): string {
    return this.#url;
  }

  /** Called once, when the port is open. */
  start(): void {
    const { address = '', port = 0 } = toAddress(this.#server);
    this.#url = `${this.#options.tls === undefined ? 'ws' : 'wss'}://${formatAddress(address, port)}`;
    this.#server.on('error', (error) => this.#log.warn('websocket accept failed', { error: osErrorText(error) }));
    // Not before the caller has had its turn to say where it listens. Should it fail, the first upgrade says so.
    setImmediate(() => this.#loadWebSocketServer().catch(() => {})).unref();
  }

  stopAccepting(): void {
    if (this.#state === 'stopping') return;
    this.#state = 'stopping';
    this.#server.close(() => this.#stopped.resolve());
  }

  async close(): Promise<void> {
    this.stopAccepting();
    await Promise.all([...this.#connections].map((connection) => connection.close('end', 'server is shutting down')));
    for (const socket of this.#sockets.keys()) socket.destroy();
    await this.#stopped.promise;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #answer(request: IncomingMessage): HttpAnswer | undefined {
    return answerHead(request, this.#options.auth, Math.floor(Date.now() / 1000));
  }

  #onUpgrade(request: IncomingMessage, head: Buffer): void {
    const socket = request.socket;
    const onError = (error: unknown): void => this.#warn('websocket accept failed', socket, error);
    socket.on('error', onError);
    const answer =
      this.#answer(request) ?? (this.#takenSlots >= this.#limit ? tooManyConnections(this.#limit) : undefined);
    if (answer !== undefined) {
      this.#refuse(request, answer);
      return;
    }
    this.#takenSlots += 1;
    socket.once('close', () => {
      this.#takenSlots -= 1;
    });
    // From here on the connection looks after the errors of its socket.
    const onAccepted = (): unknown => socket.off('error', onError);
    this.#accept(request, head, onAccepted).catch((error: unknown) => {
      onError(error);
      socket.destroy();
    });
  }

  async #accept(request: IncomingMessage, head: Buffer, onAccepted: () => void): Promise<void> {
    const socket = request.socket;
    const webSocketServer = await this.#loadWebSocketServer();
    if (this.#state === 'stopping') {
      socket.destroy();
      return;
    }
    const { remoteAddress = 'unknown', remotePort = 0 } = socket;
    const label = `exec-server websocket ${formatAddress(remoteAddress, remotePort)}`;
    // No subprotocol is ever negotiated, and an offer that cannot be parsed is no reason to refuse.
    delete request.headers['sec-websocket-protocol'];
    webSocketServer.handleUpgrade(request, socket, head, (ws) => {
      onAccepted();
      const { pingIntervalMs } = this.#options;
      const connection = new WebSocketConnection(ws, socket, { label, role: 'server', pingIntervalMs });
      this.#connections.add(connection);
      ws.once('close', () => this.#connections.delete(connection));
      this.#options.onConnection(connection);
    });
  }

  #loadWebSocketServer(): Promise<WebSocketServer> {
    this.#webSocketServer ??= loadWebSocketLibrary().then((library) => library.openServer());
    return this.#webSocketServer;
  }

  /** A request that cannot be read, or a TLS handshake that failed; only the former can be answered in HTTP. */
  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    this.#warn('websocket accept failed', socket, error);
    const { code = '' } = error;
    const status = CLIENT_ERRORS[code] ?? (code.startsWith('HPE_') ? 400 : undefined);
    if (status === undefined || !socket.writable) socket.destroy();
    else endWith(socket, emptyAnswer(status));
  }

  #refuse(request: IncomingMessage, answer: HttpAnswer): void {
    const { status, body } = answer;
    this.#log.warn('websocket upgrade refused', {
      peer: this.#sockets.get(request.socket),
      status,
      reason: body || undefined,
    });
    endWith(request.socket, request.method === 'HEAD' ? { ...answer, body: '' } : answer);
  }

  #warn(message: string, socket: Duplex, error: unknown): void {
    this.#log.warn(message, { peer: this.#sockets.get(socket), error: osErrorText(error).trim() });
  }
}

function toAddress(server: Server): Partial<AddressInfo> {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address : {};
}

/** Writes a whole HTTP answer to a socket that the HTTP server has let go, and closes it. */
function endWith(socket: Duplex, { status, headers, body }: HttpAnswer): void {
  const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  socket.once('finish', () => socket.destroy());
  socket.resume(); // Unread bytes would turn the close into a reset, and the answer might be lost with it.
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}`);
}
