/**
 * The messages between client and server as the tap saw them, and the questions tests ask about them. It knows the few
 * shapes it needs by itself and takes none from src/, so that a mistake there cannot hide here.
 */
import { z } from 'zod';
import { EventLog } from './event-log.ts';

const messageShape = z.object({
  id: z.optional(z.union([z.number(), z.string()])),
  method: z.optional(z.string()),
  params: z.optional(z.unknown()),
  result: z.optional(z.unknown()),
});
const startShape = z.object({ processId: z.string(), argv: z.array(z.string()), tty: z.boolean() });
const initializeShape = z.object({ resumeSessionId: z.nullable(z.string()) });
const initializeResultShape = z.object({ sessionId: z.string() });
const stream = z.enum(['stdout', 'stderr', 'pty']);
const chunkShape = z.object({ seq: z.number(), stream, chunk: z.string() });
const outputShape = z.object({ processId: z.string(), ...chunkShape.shape });
const readResultShape = z.object({ chunks: z.array(chunkShape), nextSeq: z.number() });

export type Recorded = z.infer<typeof messageShape> & { connection: number; from: 'client' | 'server' };
export type Stream = z.infer<typeof stream>;
export type Chunk = { seq: number; stream: Stream; bytes: Buffer };
export type Call = { connection: number; params: unknown; result: unknown };

const toChunk = ({ seq, stream, chunk }: z.infer<typeof chunkShape>): Chunk => ({
  seq,
  stream,
  bytes: Buffer.from(chunk, 'base64'),
});

export class Recording {
  readonly log = new EventLog<Recorded>();

  add(connection: number, from: Recorded['from'], text: string): void {
    this.log.add({ connection, from, ...messageShape.parse(JSON.parse(text)) });
  }

  /** Every call of a method by the client, with its result where one came back. */
  calls(method: string): Call[] {
    const { entries } = this.log;
    return entries
      .filter((entry) => entry.from === 'client' && entry.method === method)
      .map(({ connection, id, params }) => ({
        connection,
        params,
        result: entries.find((e) => e.from === 'server' && !e.method && e.connection === connection && e.id === id)
          ?.result,
      }));
  }

  /** Every handshake: the session asked for and the session granted. */
  handshakes(): { connection: number; resumeSessionId: string | null; sessionId: string }[] {
    return this.calls('initialize').map(({ connection, params, result }) => ({
      connection,
      ...initializeShape.parse(params),
      ...initializeResultShape.parse(result),
    }));
  }

  /** The one start whose command line has this word in it. */
  startOf(word: string): z.infer<typeof startShape> {
    const starts = this.calls('process/start').map(({ params }) => startShape.parse(params));
    const [found, ...more] = starts.filter(({ argv }) => argv.some((argument) => argument.includes(word)));
    if (!found || more.length > 0) throw new Error(`${more.length + (found ? 1 : 0)} starts have ${word} in them`);
    return found;
  }

  /** The results of the client's reads of one process. */
  reads(processId: string): { connection: number; afterSeq: number | null; chunks: Chunk[] }[] {
    const paramsShape = z.object({ processId: z.string(), afterSeq: z.nullable(z.number()) });
    return this.calls('process/read')
      .map(({ connection, params, result }) => ({ connection, result, ...paramsShape.parse(params) }))
      .filter((read) => read.processId === processId && read.result !== undefined)
      .map(({ connection, afterSeq, result }) => ({
        connection,
        afterSeq,
        chunks: readResultShape.parse(result).chunks.map(toChunk),
      }));
  }

  /** The bytes the server sent for one stream, pushed or read, each sequence number once. */
  output(processId: string, stream: Stream): Buffer {
    const pushed = this.log.entries.flatMap((entry) => {
      const push = toPush(entry);
      return push?.processId === processId ? [push.chunk] : [];
    });
    const read = this.reads(processId).flatMap(({ chunks }) => chunks);
    const bySeq = new Map([...pushed, ...read].map((chunk) => [chunk.seq, chunk]));
    const ordered = [...bySeq.values()].sort((a, b) => a.seq - b.seq);
    return Buffer.concat(ordered.filter((chunk) => chunk.stream === stream).map(({ bytes }) => bytes));
  }

  /** Waits until the server has pushed output with this text in one chunk. */
  async pushed(text: string): Promise<{ connection: number; processId: string; chunk: Chunk }> {
    return await this.log.first(`a push of ${text}`, (entry) => {
      const push = toPush(entry);
      return push?.chunk.bytes.includes(text) ? { connection: entry.connection, ...push } : undefined;
    });
  }

  /** One line per message, for a person looking at a failure. */
  summary(): string {
    return this.log.entries
      .map(({ connection, from, method, id }) => `${connection} ${from} ${method ?? 'reply'} ${id ?? ''}`)
      .join('\n');
  }
}

function toPush(entry: Recorded): { processId: string; chunk: Chunk } | undefined {
  if (entry.from !== 'server' || entry.method !== 'process/output') return undefined;
  const { processId, ...chunk } = outputShape.parse(entry.params);
  return { processId, chunk: toChunk(chunk) };
}
