/** A WebSocket listener for transport tests: hands out what it accepted, in order, and keeps its log. */
import type { Connection } from '../../src/transport/index.ts';
import {
  openWebSocketListener,
  type WebSocketListener,
  type WebSocketListenerOptions,
} from '../../src/transport/index.ts';
import { AsyncQueue } from '../../src/util/async-queue.ts';
import type { Log, LogFields } from '../../src/util/log.ts';

export type LogLine = { level: keyof Log; message: string } & LogFields;
export type TestListener = AsyncDisposable & {
  listener: WebSocketListener;
  url: string;
  log: LogLine[];
  /** The next accepted connection. */
  accepted(): Promise<Connection>;
};

export async function openTestListener(options: Partial<WebSocketListenerOptions> = {}): Promise<TestListener> {
  const queue = new AsyncQueue<Connection>();
  const connections = queue[Symbol.asyncIterator]();
  const log: LogLine[] = [];
  const to = (level: keyof Log) => (message: string, fields?: LogFields) => log.push({ level, message, ...fields });
  const listener = await openWebSocketListener({
    host: '127.0.0.1',
    port: 0,
    log: { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') },
    onConnection: (connection) => queue.push(connection),
    ...options,
  });
  return {
    listener,
    url: listener.url,
    log,
    accepted: async () => {
      const next = await connections.next();
      if (next.done) throw new Error('nothing was accepted');
      return next.value;
    },
    [Symbol.asyncDispose]: () => listener.close(),
  };
}
