/**
 * Messages to text, in the reference's member order, and the one hot message, `process/output`, straight to bytes.
 * Checks nothing: what goes out is typed where it is made.
 */
import { Buffer } from 'node:buffer';
import type { RequestId, WireError } from './message.ts';

export function encodeRequest(id: RequestId, method: string, params?: unknown): string {
  return `{"id":${encodeId(id)},"method":${JSON.stringify(method)}${encodeParams(params)}}`;
}

export function encodeNotification(method: string, params?: unknown): string {
  return `{"method":${JSON.stringify(method)}${encodeParams(params)}}`;
}

/** A call that returns nothing answers null: a response without `result` would be no response. */
export function encodeResponse(id: RequestId, result: unknown): string {
  return `{"id":${encodeId(id)},"result":${result === undefined ? 'null' : JSON.stringify(result)}}`;
}

/** `error` comes first and `id` last, unlike everywhere else. */
export function encodeError(id: RequestId, { code, data, message }: WireError): string {
  return `{"error":${JSON.stringify({ code, data, message })},"id":${encodeId(id)}}`;
}

function encodeParams(params: unknown): string {
  return params === undefined ? '' : `,"params":${JSON.stringify(params)}`;
}

const encodeId = (id: RequestId): string => (typeof id === 'string' ? JSON.stringify(id) : String(id));

export type OutputStream = 'stdout' | 'stderr' | 'pty';

const AFTER_SEQ: Record<OutputStream, string> = {
  stdout: ',"stream":"stdout","chunk":"',
  stderr: ',"stream":"stderr","chunk":"',
  pty: ',"stream":"pty","chunk":"',
};
const TAIL = '"}}';

/** Encodes the `process/output` notifications of one process, several times cheaper than JSON.stringify would. */
export class OutputEncoder {
  readonly #head: Buffer;

  constructor(processId: string) {
    this.#head = Buffer.from(`{"method":"process/output","params":{"processId":${JSON.stringify(processId)},"seq":`);
  }

  encode(seq: number, stream: OutputStream, chunk: Uint8Array): Uint8Array {
    const middle = seq + AFTER_SEQ[stream];
    const chunkStart = this.#head.length + middle.length;
    const chunkEnd = chunkStart + Math.ceil(chunk.length / 3) * 4;
    const frame = Buffer.allocUnsafe(chunkEnd + TAIL.length);
    this.#head.copy(frame);
    frame.write(middle, this.#head.length, 'latin1');
    frame.write(toBase64(chunk), chunkStart, 'latin1');
    frame.write(TAIL, chunkEnd, 'latin1');
    return frame;
  }
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
