/**
 * Reads along one direction of a WebSocket connection: skips the HTTP head, then puts the text messages together. It
 * only looks; the bytes travel on untouched, so pings, masks and close frames stay between client and server.
 */
const OPCODE = { continuation: 0, text: 1 } as const;
const HEAD_END = '\r\n\r\n';

type Frame = { isFinal: boolean; opcode: number; payload: Buffer; bytes: number };

function readFrame(buffer: Buffer): Frame | undefined {
  if (buffer.length < 2) return undefined;
  const first = buffer.readUInt8(0);
  const second = buffer.readUInt8(1);
  const short = second & 0x7f;
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
  const maskBytes = second & 0x80 ? 4 : 0;
  const start = 2 + lengthBytes + maskBytes;
  if (buffer.length < start) return undefined;
  const length =
    lengthBytes === 8 ? Number(buffer.readBigUInt64BE(2)) : lengthBytes === 2 ? buffer.readUInt16BE(2) : short;
  if (buffer.length < start + length) return undefined;
  const payload = Buffer.from(buffer.subarray(start, start + length));
  if (maskBytes > 0) {
    const mask = buffer.subarray(start - maskBytes, start);
    for (let index = 0; index < length; index += 1) payload[index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
  }
  return { isFinal: (first & 0x80) !== 0, opcode: first & 0x0f, payload, bytes: start + length };
}

export class FrameDecoder {
  #state: 'head' | 'frames' = 'head';
  #rest: Buffer = Buffer.alloc(0);
  #parts: Buffer[] = [];

  /** The text messages that this chunk completes. */
  push(chunk: Buffer): string[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (this.#state === 'head') {
      const end = this.#rest.indexOf(HEAD_END);
      if (end < 0) return [];
      this.#rest = this.#rest.subarray(end + HEAD_END.length);
      this.#state = 'frames';
    }
    const messages: string[] = [];
    for (let frame = readFrame(this.#rest); frame; frame = readFrame(this.#rest)) {
      this.#rest = this.#rest.subarray(frame.bytes);
      if (frame.opcode !== OPCODE.text && frame.opcode !== OPCODE.continuation) continue;
      this.#parts.push(frame.payload);
      if (!frame.isFinal) continue;
      messages.push(Buffer.concat(this.#parts).toString('utf8'));
      this.#parts = [];
    }
    return messages;
  }
}
