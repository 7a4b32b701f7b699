/**
 * The client's way to a Connection: dials a WebSocket URL and waits for the upgrade. Makes one attempt; whoever wants
 * another calls again. A token is sent and never shown.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ClientOptions, WebSocket } from 'ws';
import { deferred } from '../util/deferred.ts';
import { osErrorText } from '../util/os-error.ts';
import type { Connection } from './connection.ts';
import { WebSocketConnection } from './websocket-connection.ts';
import { loadWebSocketLibrary } from './websocket-library.ts';

/** As long as the reference's client waits. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Enough for any refusal worth reading. */
const MAX_REFUSAL_BYTES = 4_096;

export interface DialOptions {
  /** Sent as a bearer token. */
  token?: string | undefined;
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
  connectTimeoutMs?: number | undefined;
  pingIntervalMs?: number | undefined;
  /** Certificates to trust instead of the well-known ones, for `wss:`. */
  ca?: string | Uint8Array | undefined;
}

/** Why a dial failed. `status` and `body` are the server's when it answered without upgrading. */
export class DialError extends Error {
  override readonly name = 'DialError';
  readonly status: number | undefined;
  readonly body: string | undefined;

  constructor(message: string, options: ErrorOptions & { status?: number; body?: string } = {}) {
    super(message, options);
    this.status = options.status;
    this.body = options.body;
  }
}

/** Resolves when the connection is open. Rejects with a DialError, or with the signal's reason. */
export async function dialWebSocket(url: string, options: DialOptions = {}): Promise<Connection> {
  const { signal, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options;
  signal?.throwIfAborted();
  const library = await loadWebSocketLibrary();
  signal?.throwIfAborted();
  const shown = toShown(url);
  const target = `exec-server websocket \`${shown}\``;
  let ws: WebSocket;
  try {
    ws = library.dial(url, toClientOptions(options));
  } catch {
    // The cause would repeat the URL with whatever secrets are in it.
    throw new DialError(`failed to connect to ${target}: invalid URL`);
  }

  const opened = deferred<Connection>();
  const onAbort = (): void => {
    opened.reject(signal?.reason);
    ws.terminate();
  };
  const timer = setTimeout(() => {
    opened.reject(new DialError(`timed out connecting to ${target} after ${toDuration(connectTimeoutMs)}`));
    ws.terminate();
  }, connectTimeoutMs);
  signal?.addEventListener('abort', onAbort, { once: true });

  let socket: Socket | undefined;
  ws.once('upgrade', (response: IncomingMessage) => {
    socket = response.socket;
  });
  ws.once('unexpected-response', (_request, response: IncomingMessage) => {
    // Reading never rejects, and what follows only settles the dial.
    void readRefusal(response).then((body) => {
      const status = response.statusCode ?? 0;
      const reason = `HTTP error: ${status} ${response.statusMessage ?? ''}`.trimEnd();
      opened.reject(new DialError(`failed to connect to ${target}: ${reason}`, { status, body }));
      ws.terminate();
    });
  });
  const onError = (cause: Error): void =>
    opened.reject(new DialError(`failed to connect to ${target}: ${osErrorText(cause)}`, { cause }));
  ws.on('error', onError);
  ws.once('open', () => {
    if (socket === undefined) return;
    ws.off('error', onError); // From here on the connection looks after its errors.
    const label = `exec-server websocket ${shown}`;
    const { pingIntervalMs } = options;
    opened.resolve(new WebSocketConnection(ws, socket, { label, role: 'client', pingIntervalMs }));
  });

  try {
    return await opened.promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

function toClientOptions({ token, headers, ca }: DialOptions): ClientOptions {
  return {
    headers: { ...headers, ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) },
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
  };
}

/** The URL without what may be secret: user, password, query. */
function toShown(url: string): string {
  return url.replace(/[?#].*$/s, '').replace(/^([a-z]+:\/\/)[^/]*@/i, '$1');
}

function toDuration(ms: number): string {
  return ms < 1000 ? `${ms}ms` : `${ms / 1000}s`;
}

/** What the server said, up to a limit. Ends by itself: the dial's timer cuts a server that never finishes. */
async function readRefusal(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      chunks.push(Buffer.from(chunk));
      bytes += chunk.length;
      if (bytes >= MAX_REFUSAL_BYTES) break;
    }
  } catch {
    // The server hung up in the middle; what came so far is all there is to say.
  }
  return Buffer.concat(chunks).subarray(0, MAX_REFUSAL_BYTES).toString('utf8');
}
