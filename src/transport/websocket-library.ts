/**
 * The `ws` package, loaded on first use because a server should listen before it costs anything, and set up one way for
 * both sides: no compression, our limits, and protocol errors that cut the connection instead of being discussed.
 */
import type { ClientOptions, ServerOptions, WebSocket, WebSocketServer } from 'ws';
import { CLOSE_HANDSHAKE_TIMEOUT_MS, MAX_MESSAGE_BYTES } from '../limits.ts';

export interface WebSocketLibrary {
  /** Accepts upgrades; it listens to nothing itself. */
  openServer(): WebSocketServer;
  /** Starts connecting. Throws when the URL is no good. */
  dial(url: string, options: ClientOptions): WebSocket;
}

const COMMON = {
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE_BYTES,
  // The connection answers pings itself, so that a flood of them cannot queue a flood of pongs.
  autoPong: false,
  closeTimeout: CLOSE_HANDSHAKE_TIMEOUT_MS,
};

let loading: Promise<WebSocketLibrary> | undefined;

export function loadWebSocketLibrary(): Promise<WebSocketLibrary> {
  loading ??= load();
  return loading;
}

async function load(): Promise<WebSocketLibrary> {
  const library = await import('ws');

  /** The library calls `close(code)` for a frame it cannot accept and `close(code, reason)` to answer a close frame. */
  class StrictWebSocket extends library.WebSocket {
    override close(code?: number, reason?: string | Buffer): void {
      if (code !== undefined && reason === undefined) this.terminate();
      else super.close(code, reason);
    }
  }

  const serverOptions: ServerOptions = { ...COMMON, noServer: true, clientTracking: false, WebSocket: StrictWebSocket };
  return {
    openServer: () => new library.WebSocketServer(serverOptions),
    dial: (url, options) => new StrictWebSocket(url, { ...COMMON, ...options }),
  };
}
