/** A WebSocket peer made by hand, for what no library would send: wrong frames, silence, half an answer. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export const TEXT = 0x1;
export const BINARY = 0x2;
export const CLOSE = 0x8;
export const PING = 0x9;
export const PONG = 0xa;

export type RawFrame = { opcode: number; payload: Buffer };

const UPGRADE = {
  Host: 'x',
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** A frame's header; the mask key is zero, so that the payload goes as it is. */
export function frameHeader(opcode: number, length: number, { fin = true, masked = true } = {}): Buffer {
  const size = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const header = Buffer.alloc(2 + size + (masked ? 4 : 0));
  header[0] = (fin ? 0x80 : 0) | opcode;
  header[1] = (masked ? 0x80 : 0) | (size === 0 ? length : size === 2 ? 126 : 127);
  if (size === 2) header.writeUInt16BE(length, 2);
  if (size === 8) header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

export function frame(
  opcode: number,
  payload: string | Uint8Array,
  options?: { fin?: boolean; masked?: boolean },
): Buffer {
  const bytes = Buffer.from(payload);
  return Buffer.concat([frameHeader(opcode, bytes.length, options), bytes]);
}

/** Reads what the server sends as frames; `frames()` ends when the server closes. */
export class RawPeer implements AsyncDisposable {
  readonly socket: Socket;
  /** The head of the server's answer to the upgrade. */
  readonly head: string;
  #buffered: Buffer;

  private constructor(socket: Socket, head: string, rest: Buffer) {
    this.socket = socket;
    this.head = head;
    this.#buffered = rest;
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<RawPeer> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname.replace(/[[\]]/g, ''));
    socket.on('error', () => {}); // Being cut is what these tests are about; `frames()` ends either way.
    const lines = Object.entries({ ...UPGRADE, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET / HTTP/1.1\r\n${lines.join('')}\r\n`);
    let received = Buffer.alloc(0);
    for (;;) {
      const [chunk]: Buffer[] = await once(socket, 'data');
      received = Buffer.concat([received, chunk ?? Buffer.alloc(0)]);
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) continue;
      socket.pause();
      return new RawPeer(socket, received.subarray(0, end).toString(), received.subarray(end + 4));
    }
  }

  write(...chunks: (string | Uint8Array)[]): void {
    this.socket.write(Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))));
  }

  /** The next frame, or undefined when the server has closed. */
  async next(): Promise<RawFrame | undefined> {
    for (;;) {
      const taken = this.#takeFrame();
      if (taken) return taken;
      const chunk = await this.#readChunk();
      if (chunk === undefined) return undefined;
      this.#buffered = Buffer.concat([this.#buffered, chunk]);
    }
  }

  async #readChunk(): Promise<Buffer | undefined> {
    for (;;) {
      const chunk: Buffer | null = this.socket.read();
      if (chunk !== null) return chunk;
      if (this.socket.readableEnded || this.socket.destroyed) return undefined;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          for (const event of ['readable', 'end', 'close']) this.socket.off(event, wake);
          resolve();
        };
        for (const event of ['readable', 'end', 'close']) this.socket.on(event, wake);
      });
    }
  }

  #takeFrame(): RawFrame | undefined {
    const bytes = this.#buffered;
    const short = (bytes[1] ?? 0) & 0x7f;
    const start = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
    if (bytes.length < start) return undefined;
    const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
    if (bytes.length < start + length) return undefined;
    this.#buffered = bytes.subarray(start + length);
    return { opcode: (bytes[0] ?? 0) & 0x0f, payload: bytes.subarray(start, start + length) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.socket.destroyed) return;
    const closed = once(this.socket, 'close');
    this.socket.destroy();
    await closed;
  }
}
