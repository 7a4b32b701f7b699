/** Whether the answer to a `process/read` is the recorded one, however the two runs cut the output into chunks. */
import { Mismatch } from './compare.ts';
import type { EventLog } from './event-log.ts';
import { isObject, type JsonObject, member, parseObject, shapeOf } from './json.ts';
import { decodeChunk, type SentRequest } from './peer.ts';

export type ReadComparison = {
  expected: string;
  actual: string;
  request: SentRequest;
  recordedLog: EventLog;
  actualLog: EventLog;
  normalise(text: string): string;
};

/** As in the reference: what a process may keep, and the largest chunk, which is how exactly that is met. */
const RETAIN_BYTES = 1024 * 1024;
const MAX_CHUNK_BYTES = 8192;

const CHUNK_SHAPE = JSON.stringify({ seq: 'number', stream: 'string', chunk: 'string' });

export function isRead(text: string): boolean {
  return Array.isArray(member(parseObject(text) ?? {}, 'result').chunks);
}

/** Compares all but `nextSeq`, and gives the check of that, to be made when every event has come. */
export function compareRead(comparison: ReadComparison): () => void {
  const { expected, actual, request, recordedLog, actualLog, normalise } = comparison;
  const recorded = resultOf(expected);
  const received = resultOf(actual);
  const closesEarly = mayCloseEarly(recorded, request) && received.closed === true;
  if (JSON.stringify(parseObject(actual)) !== actual) throw new Mismatch('not in compact form', expected, actual);
  if (maskChunks(expected, closesEarly) !== maskChunks(actual, false)) {
    throw new Mismatch('the read differs', maskChunks(expected, closesEarly), maskChunks(actual, false));
  }
  addChunks(recorded, recordedLog);
  addChunks(received, actualLog);
  checkSeqs(received, request);
  if (isTail(recorded, recordedLog)) return () => checkTail(received, request, actualLog);
  if (joined(recorded, normalise) !== joined(received, normalise)) {
    throw new Mismatch('the output read differs', joined(recorded, normalise), joined(received, normalise));
  }
  return () => {
    const position = closesEarly ? recordedLog.closedSeq : Number(recorded.nextSeq) - 1;
    const nextSeq =
      (position === undefined ? Number.NaN : (actualLog.seqLike(recordedLog, position) ?? Number.NaN)) + 1;
    if (received.nextSeq !== nextSeq) throw new Mismatch(`nextSeq should be ${nextSeq} here`, expected, actual);
  };
}

/** A read that waited for the exit may find the streams closed as well; which of the two it sees is timing. */
function mayCloseEarly(recorded: JsonObject, { params }: SentRequest): boolean {
  return recorded.exited === true && recorded.closed === false && Number(params.waitMs ?? 0) > 0;
}

const resultOf = (text: string): JsonObject => member(parseObject(text) ?? {}, 'result');

function chunksOf(result: JsonObject): JsonObject[] {
  return Array.isArray(result.chunks) ? result.chunks.filter(isObject) : [];
}

/** Without the numbers that depend on how the output was cut; they are checked on their own. */
function maskChunks(text: string, closed: boolean): string {
  const message = parseObject(text) ?? {};
  const result = member(message, 'result');
  const lost = 'firstSeq' in result ? { firstSeq: 0, lostBytes: 0 } : {};
  const masked = { ...result, chunks: [], nextSeq: 0, ...lost };
  return JSON.stringify({ ...message, result: closed ? { ...masked, closed } : masked });
}

function addChunks(result: JsonObject, log: EventLog): void {
  for (const chunk of chunksOf(result)) {
    const shape = JSON.stringify(shapeOf(chunk));
    if (shape !== CHUNK_SHAPE) throw new Mismatch('a chunk is built differently', CHUNK_SHAPE, shape);
    log.add(Number(chunk.seq), { type: 'output', stream: String(chunk.stream), bytes: decodeChunk(chunk) });
  }
}

function checkSeqs(result: JsonObject, { params }: SentRequest): void {
  let last = Number(params.afterSeq ?? 0);
  for (const { seq } of chunksOf(result)) {
    if (Number(seq) <= last) throw new Error(`a read gave seq ${seq} after ${last}`);
    last = Number(seq);
  }
}

function joined(result: JsonObject, normalise: (text: string) => string): string {
  const streams: Record<string, string> = {};
  for (const chunk of chunksOf(result)) {
    const stream = String(chunk.stream);
    streams[stream] = (streams[stream] ?? '') + decodeChunk(chunk);
  }
  const texts = Object.entries(streams).map(([stream, text]) => [stream, normalise(text)]);
  return JSON.stringify(texts.sort());
}

/** The recording reads a process of which output had been dropped already: what is kept depends on the chunks. */
function isTail(recorded: JsonObject, log: EventLog): boolean {
  const first = Number(chunksOf(recorded)[0]?.seq ?? 0);
  return first > 1 && log.outputSeqs.some((seq) => seq < first) && totalOf(log) > RETAIN_BYTES;
}

function totalOf(log: EventLog): number {
  return [...log.output().values()].reduce((total, text) => total + text.length, 0);
}

/** All that is kept is within a chunk of the limit and reaches the end; a page of it obeys `maxBytes`. */
function checkTail(received: JsonObject, { params }: SentRequest, log: EventLog): void {
  const chunks = chunksOf(received);
  if ('firstSeq' in received) checkLost(received, log);
  const bytes = chunks.reduce((total, chunk) => total + decodeChunk(chunk).length, 0);
  const last = Number(chunks.at(-1)?.seq);
  if (typeof params.maxBytes === 'number') {
    const next = log.get(last + 1);
    const nextBytes = next?.type === 'output' ? next.bytes.length : Number.NaN;
    const fits = bytes <= params.maxBytes && bytes + nextBytes > params.maxBytes;
    if (!fits || received.nextSeq !== last + 1)
      throw new Error(`a page of ${bytes} bytes, nextSeq ${received.nextSeq}`);
    return;
  }
  const kept = bytes <= RETAIN_BYTES && bytes > RETAIN_BYTES - MAX_CHUNK_BYTES;
  const reachesEnd = last === log.outputSeqs.at(-1) && received.nextSeq === Number(log.closedSeq) + 1;
  if (!kept || !reachesEnd) throw new Error(`kept ${bytes} bytes to seq ${last}, nextSeq ${received.nextSeq}`);
}

/** Where the server says what it dropped, it must be what is missing. */
function checkLost(received: JsonObject, log: EventLog): void {
  const first = Number(chunksOf(received)[0]?.seq);
  const dropped = log.outputSeqs.filter((seq) => seq < first).map((seq) => log.get(seq));
  const bytes = dropped.reduce((total, event) => total + (event?.type === 'output' ? event.bytes.length : 0), 0);
  if (received.firstSeq === first && received.lostBytes === bytes) return;
  throw new Error(`${bytes} bytes before seq ${first} are gone, not ${received.lostBytes} before ${received.firstSeq}`);
}
