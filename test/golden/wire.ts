/** One client's end of a connection to the server under test, at the level of texts: nothing here reads a message. */
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { WebSocket } from 'ws';

export type WireEvents = {
  text(text: string): void;
  /** Once; `how` is the WebSocket close code (1006 when no close frame came) or the word `eof`. */
  closed(how: string): void;
};

export interface Wire {
  /** How the server names this client in its texts about malformed messages. */
  readonly label: string;
  send(data: string | Buffer, options: { binary: boolean }): void;
  /** Goes away without a farewell, as a client that lost its network; resolves when the connection is gone. */
  drop(): Promise<void>;
}

export async function dialWebSocket(url: string, events: WireEvents): Promise<Wire> {
  const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 });
  let label = '';
  socket.on('upgrade', (response) => {
    label = `exec-server websocket 127.0.0.1:${response.socket.localPort}`;
  });
  socket.on('message', (data, isBinary) => events.text(isBinary ? '<binary frame>' : data.toString()));
  // A drop without a close frame is an error to the library; here it is one way to close.
  socket.on('error', () => {});
  const gone = once(socket, 'close').then(([code]) => events.closed(String(code)));
  await once(socket, 'open');
  return {
    label,
    send: (data, options) => socket.send(data, options),
    drop: async () => {
      socket.terminate();
      await gone;
    },
  };
}

/** One message a line over a pair of streams. */
export function wireOverStreams(input: Writable, output: Readable, events: WireEvents): Wire {
  let rest = '';
  output.setEncoding('utf8');
  output.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) events.text(line);
  });
  const gone = once(output, 'end').then(() => events.closed(rest === '' ? 'eof' : 'eof in the middle of a line'));
  return {
    label: 'exec-server stdio',
    send: (data) => {
      input.write(data);
      input.write('\n');
    },
    drop: async () => {
      input.end();
      await gone;
    },
  };
}
