/**
 * Text or bytes to one of the shapes of message.ts. Never throws, whatever comes in. The fast path is JSON.parse plus
 * a proof that the text holds nothing JSON.parse hides; without the proof the strict reader decides. Methods and their
 * params mean nothing here.
 */
import { Buffer } from 'node:buffer';
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from '../limits.ts';
import { JsonReader, MalformedError, RawNumber } from './json-reader.ts';
import type { Message, RequestId, WireError } from './message.ts';

// One level of nesting takes an opening and a closing bracket, so nothing shorter can be too deep or hold too much.
const MIN_UNBOUNDED_CHARS = 2 * (MAX_JSON_DEPTH + 1);
// Comparing a literal of this size costs more than leaving it out of the comparison.
const LONG_LITERAL_CHARS = 1024;

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** One message out of a text or its UTF-8 bytes; an absent `params` is null. */
export function decode(input: string | Uint8Array): Message {
  try {
    const value = readFast(input);
    if (value !== undefined) return toMessage(value);
    const reader = new JsonReader(input);
    const message = toMessage(reader.readValue());
    reader.readEnd();
    return message;
  } catch (failure) {
    if (failure instanceof MalformedError) return { type: 'malformed', detail: failure.message };
    throw failure;
  }
}

/** The value when JSON.parse provably lost nothing, undefined when the strict reader must look. */
function readFast(input: string | Uint8Array): unknown {
  const text = typeof input === 'string' ? input : toText(input);
  // U+FFFD may stand for bytes that are not UTF-8, a \u escape for half a surrogate pair.
  if (typeof input !== 'string' && text.includes('\ufffd')) return undefined;
  if (text.includes('\\') && text.includes('\\u')) return undefined;
  const skeleton = text.length < MIN_UNBOUNDED_CHARS ? text : toSkeleton(text);
  if (skeleton === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const shape: unknown = skeleton === text ? value : JSON.parse(skeleton);
    // What is spelled just as we would spell it has no duplicate keys and no numbers that lost digits.
    return JSON.stringify(shape) === skeleton ? value : undefined;
  } catch {
    return undefined; // The strict reader says what is wrong, in the reference's words.
  }
}

function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

/**
 * The text with its long string literals emptied, or undefined when it may break a limit: a bomb must be noticed
 * before JSON.parse builds it. Trusts the text to be JSON, for JSON.parse has the last word on that.
 */
function toSkeleton(text: string): string | undefined {
  let values = 1;
  let depth = 0;
  let kept = '';
  let keptTo = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfLiteral(text, at + 1);
        if (end < 0) return undefined;
        if (end - at > LONG_LITERAL_CHARS) {
          kept += text.slice(keptTo, at + 1);
          keptTo = end;
        }
        at = end;
        break;
      }
      case 0x5b:
      case 0x7b:
        depth += 1;
        values += 1;
        if (depth > MAX_JSON_DEPTH || values > MAX_JSON_VALUES) return undefined;
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
      case 0x2c:
        values += 1;
        if (values > MAX_JSON_VALUES) return undefined;
        break;
    }
  }
  return keptTo === 0 ? text : kept + text.slice(keptTo);
}

function endOfLiteral(text: string, start: number): number {
  const quote = text.indexOf('"', start);
  if (quote < 0 || text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  for (let at = start; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at;
    if (unit === BACKSLASH) at += 1;
  }
  return -1;
}

type Members = Record<string, unknown>;

function toMessage(value: unknown): Message {
  if (!isObject(value)) throw new MalformedError('expected a JSON-RPC object');
  // JSON has no undefined, so this asks for presence.
  if (value.method !== undefined) return value.id === undefined ? toNotification(value) : toRequest(value);
  return value.result === undefined ? toErrorAnswer(value) : toResponse(value);
}

function toRequest(members: Members): Message {
  const { method, params = null, trace = null } = members;
  const id = toId(members.id);
  if (id === undefined || typeof method !== 'string' || checkTrace(trace) !== undefined) {
    throw refusal(members, REQUEST_CHECKS);
  }
  return { type: 'request', id, method, params };
}

function toNotification(members: Members): Message {
  const { method, params = null } = members;
  if (typeof method !== 'string') throw refusal(members, NOTIFICATION_CHECKS);
  return { type: 'notification', method, params };
}

function toResponse(members: Members): Message {
  const id = toId(members.id);
  if (id === undefined) throw refusal(members, RESPONSE_CHECKS);
  return { type: 'response', id, result: members.result };
}

function toErrorAnswer(members: Members): Message {
  const id = toId(members.id);
  const error = toWireError(members.error);
  if (id === undefined || error === undefined) throw refusal(members, ERROR_ANSWER_CHECKS);
  return { type: 'error', id, error };
}

function toWireError(value: unknown): WireError | undefined {
  if (!isObject(value)) return undefined;
  const { message, data } = value;
  const code = toInt64(value.code);
  if (code === undefined || typeof message !== 'string') return undefined;
  return { code: Number(code), message, ...(data !== undefined && { data }) };
}

const toId = (value: unknown): RequestId | undefined => (typeof value === 'string' ? value : toInt64(value));

function toInt64(value: unknown): number | bigint | undefined {
  if (typeof value === 'bigint') return value >= MIN_INT64 && value <= MAX_INT64 ? value : undefined;
  if (typeof value !== 'number') return undefined;
  if (Number.isSafeInteger(value)) return value + 0; // -0 is the integer 0.
  // Its digits are those of the text, which the number itself may be a little off.
  return Number.isInteger(value) && Math.abs(value) <= 2 ** 63 ? toInt64(BigInt(String(value))) : undefined;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawNumber);
}

/** Says what is wrong with a member's value, or nothing. */
type Check = (value: unknown) => string | undefined;
type Checks = ReadonlyMap<string, Check>;

const checkId: Check = (value) =>
  toId(value) === undefined ? 'data did not match any variant of untagged enum RequestId' : undefined;
const checkString: Check = (value) => (typeof value === 'string' ? undefined : wrongType(value, 'a string'));
const checkOptionalString: Check = (value) => (value === null ? undefined : checkString(value));
const checkCode: Check = (value) => {
  if (toInt64(value) !== undefined) return undefined;
  return kindOf(value) === 'number' ? 'invalid number' : wrongType(value, 'i64');
};

const TRACE_CHECKS: Checks = new Map([
  ['traceparent', checkOptionalString],
  ['tracestate', checkOptionalString],
]);
const checkTrace: Check = (value) => {
  if (value === null) return undefined;
  return isObject(value) ? wrongMember(value, TRACE_CHECKS) : wrongType(value, 'struct W3cTraceContext');
};

const ERROR_CHECKS: Checks = new Map([
  ['code', checkCode],
  ['message', checkString],
]);
const checkError: Check = (value) => {
  if (!isObject(value)) return wrongType(value, 'struct JSONRPCErrorError');
  return wrongMember(value, ERROR_CHECKS) ?? missingMember(value, ERROR_CHECKS);
};

const REQUEST_CHECKS: Checks = new Map([
  ['id', checkId],
  ['method', checkString],
  ['trace', checkTrace],
]);
const NOTIFICATION_CHECKS: Checks = new Map([['method', checkString]]);
const RESPONSE_CHECKS: Checks = new Map([['id', checkId]]);
const ERROR_ANSWER_CHECKS: Checks = new Map([
  ['error', checkError],
  ['id', checkId],
]);

/** The reference takes members as they come in the text, and only then asks which are missing. */
function refusal(members: Members, checks: Checks): MalformedError {
  return new MalformedError(wrongMember(members, checks) ?? missingMember(members, checks));
}

function wrongMember(members: Members, checks: Checks): string | undefined {
  for (const name of Object.keys(members)) {
    const problem = checks.get(name)?.(members[name]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function missingMember(members: Members, checks: Checks): string | undefined {
  for (const name of checks.keys()) if (members[name] === undefined) return `missing field \`${name}\``;
  return undefined;
}

const wrongType = (value: unknown, expected: string): string => `invalid type: ${kindOf(value)}, expected ${expected}`;

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `string ${JSON.stringify(value)}`;
  if (typeof value === 'boolean') return `boolean \`${value}\``;
  if (Array.isArray(value)) return 'sequence';
  return isObject(value) ? 'map' : 'number';
}
