/**
 * The strict JSON reader: slow, but it knows what JSON.parse hides (duplicate keys, how a number was spelled, lone
 * surrogate escapes), stops at the limits on values and depth as it goes, and names the byte where it stopped in the
 * reference's words. decode.ts uses it for whatever its fast path cannot prove harmless. It knows nothing of messages.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from '../limits.ts';

/** The input is no message; the text is the `detail` of a malformed message. Never leaves `wire/`. */
export class MalformedError extends Error {
  override readonly name = 'MalformedError';
}

/**
 * A number whose spelling says more than its value (`1.0`, `1e2`, an integer beyond all use): kept as it was written,
 * so that whoever wants an integer can refuse it.
 */
export class RawNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

// Enough for every 128-bit integer. Longer ones stay text: no member takes them, and making a bigint of a megabyte of
// digits takes more than linear time.
const MAX_BIGINT_CHARS = 40;

const END = -1;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LETTER_U = 0x75;
const SHORT_ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const isTrailingSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

function hexDigit(byte: number): number {
  if (isDigit(byte)) return byte - 0x30;
  const letter = (byte | 0x20) - 0x61;
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

function toNumber(text: string): unknown {
  const number = Number(text);
  // `-0` is the one integer that JavaScript spells differently without losing anything.
  if (String(number) === text || text === '-0') return number;
  return text.length <= MAX_BIGINT_CHARS && !/[.eE]/.test(text) ? BigInt(text) : new RawNumber(text);
}

/** Reads one JSON text: `readValue()`, then `readEnd()`. Both throw MalformedError. */
export class JsonReader {
  readonly #bytes: Buffer;
  #at = 0;
  #values = 1;

  constructor(input: string | Uint8Array) {
    this.#bytes =
      typeof input === 'string' ? Buffer.from(input) : Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  }

  readValue(): unknown {
    return this.#value(1);
  }

  readEnd(): void {
    if (this.#skipSpace() !== END) throw this.#errorAtNext('trailing characters');
  }

  #value(depth: number): unknown {
    const byte = this.#skipSpace();
    switch (byte) {
      case OPEN_BRACE:
        return this.#object(depth);
      case OPEN_BRACKET:
        return this.#array(depth);
      case QUOTE:
        return this.#string();
      case 0x6e:
        return this.#literal('null', null);
      case 0x74:
        return this.#literal('true', true);
      case 0x66:
        return this.#literal('false', false);
      case END:
        throw this.#errorAtNext('EOF while parsing a value');
      default:
        if (byte !== MINUS && !isDigit(byte)) throw this.#errorAtNext('expected value');
        return this.#number();
    }
  }

  #object(depth: number): unknown {
    this.#open(depth);
    const object: Record<string, unknown> = {};
    for (let first = true; this.#hasMember(first); first = false) {
      const key = this.#string();
      if (Object.hasOwn(object, key)) throw this.#errorInside(CLOSE_BRACE, `duplicate JSON object key \`${key}\``);
      this.#colon();
      this.#countValue(CLOSE_BRACE);
      const value = this.#value(depth + 1);
      // Assigning to `__proto__` would set the prototype instead of a member.
      if (key !== '__proto__') object[key] = value;
      else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    }
    return object;
  }

  #array(depth: number): unknown {
    this.#open(depth);
    const array: unknown[] = [];
    for (let first = true; this.#hasElement(first); first = false) {
      this.#countValue(CLOSE_BRACKET);
      array.push(this.#value(depth + 1));
    }
    return array;
  }

  #open(depth: number): void {
    if (depth > MAX_JSON_DEPTH) throw this.#errorAtNext('recursion limit exceeded');
    this.#at += 1;
  }

  #countValue(close: number): void {
    this.#values += 1;
    if (this.#values <= MAX_JSON_VALUES) return;
    throw this.#errorInside(close, `JSON-RPC message exceeds the limit of ${MAX_JSON_VALUES} JSON values`);
  }

  #hasMember(first: boolean): boolean {
    let byte = this.#skipSpace();
    if (byte === CLOSE_BRACE) {
      this.#at += 1;
      return false;
    }
    if (byte === END) throw this.#errorAtNext('EOF while parsing an object');
    if (!first) {
      if (byte !== COMMA) throw this.#errorAtNext('expected `,` or `}`');
      this.#at += 1;
      byte = this.#skipSpace();
      if (byte === CLOSE_BRACE) throw this.#errorAtNext('trailing comma');
      if (byte === END) throw this.#errorAtNext('EOF while parsing a value');
    }
    if (byte !== QUOTE) throw this.#errorAtNext('key must be a string');
    return true;
  }

  #hasElement(first: boolean): boolean {
    const byte = this.#skipSpace();
    if (byte === CLOSE_BRACKET) {
      this.#at += 1;
      return false;
    }
    if (byte === END) throw this.#errorAtNext('EOF while parsing a list');
    if (first) return true;
    if (byte !== COMMA) throw this.#errorAtNext('expected `,` or `]`');
    this.#at += 1;
    if (this.#skipSpace() === CLOSE_BRACKET) throw this.#errorAtNext('trailing comma');
    return true;
  }

  #colon(): void {
    const byte = this.#skipSpace();
    if (byte === END) throw this.#errorAtNext('EOF while parsing an object');
    if (byte !== COLON) throw this.#errorAtNext('expected `:`');
    this.#at += 1;
  }

  /** Checks a string literal byte by byte, then has it decoded natively: escapes may be millions. */
  #string(): string {
    const bytes = this.#bytes;
    const start = this.#at;
    let seen = 0;
    let escaped = false;
    this.#at += 1;
    for (;;) {
      const byte = this.#nextInString();
      if (byte === QUOTE) break;
      if (byte < 0x20) throw this.#error('control character (\\u0000-\\u001F) found while parsing a string');
      if (byte === BACKSLASH) {
        this.#escape();
        escaped = true;
      }
      seen |= byte;
    }
    const isAscii = seen < 0x80;
    if (!isAscii && !isUtf8(bytes.subarray(start, this.#at))) throw this.#error('invalid unicode code point');
    const encoding = isAscii ? 'latin1' : 'utf8';
    return escaped
      ? String(JSON.parse(bytes.toString(encoding, start, this.#at)))
      : bytes.toString(encoding, start + 1, this.#at - 1);
  }

  #escape(): void {
    const byte = this.#nextInString();
    if (byte !== LETTER_U) {
      if (!SHORT_ESCAPES.has(byte)) throw this.#error('invalid escape');
      return;
    }
    const unit = this.#hexUnit();
    if (isTrailingSurrogate(unit)) throw this.#error('lone leading surrogate in hex escape');
    if (unit < 0xd800 || unit > 0xdbff) return;
    if (this.#nextInString() !== BACKSLASH || this.#nextInString() !== LETTER_U) {
      throw this.#error('unexpected end of hex escape');
    }
    if (!isTrailingSurrogate(this.#hexUnit())) throw this.#error('lone leading surrogate in hex escape');
  }

  #hexUnit(): number {
    const start = this.#at;
    this.#at = Math.min(start + 4, this.#bytes.length);
    if (this.#at < start + 4) throw this.#error('EOF while parsing a string');
    let unit = 0;
    for (let at = start; at < this.#at; at += 1) {
      const digit = hexDigit(this.#bytes[at] ?? END);
      if (digit < 0) throw this.#error('invalid escape');
      unit = unit * 16 + digit;
    }
    return unit;
  }

  #number(): unknown {
    const start = this.#at;
    if (this.#peek() === MINUS) this.#at += 1;
    const first = this.#digit();
    if (first !== 0x30) this.#digits();
    else if (isDigit(this.#peek())) throw this.#errorAtNext('invalid number');
    if (this.#peek() === 0x2e) {
      this.#at += 1;
      if (this.#peek() === END) throw this.#errorAtNext('EOF while parsing a value');
      if (!isDigit(this.#peek())) throw this.#errorAtNext('invalid number');
      this.#digits();
    }
    if ((this.#peek() | 0x20) === 0x65) {
      this.#at += 1;
      if (this.#peek() === MINUS || this.#peek() === 0x2b) this.#at += 1;
      this.#digit();
      this.#digits();
    }
    return toNumber(this.#bytes.toString('latin1', start, this.#at));
  }

  #digit(): number {
    const byte = this.#next();
    if (byte === END) throw this.#error('EOF while parsing a value');
    if (!isDigit(byte)) throw this.#error('invalid number');
    return byte;
  }

  #digits(): void {
    while (isDigit(this.#peek())) this.#at += 1;
  }

  #literal<T>(word: string, value: T): T {
    this.#at += 1;
    for (let index = 1; index < word.length; index += 1) {
      const byte = this.#next();
      if (byte === END) throw this.#error('EOF while parsing a value');
      if (byte !== word.charCodeAt(index)) throw this.#error('expected ident');
    }
    return value;
  }

  #peek(): number {
    return this.#bytes[this.#at] ?? END;
  }

  #next(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) return END;
    this.#at += 1;
    return byte;
  }

  #nextInString(): number {
    const byte = this.#next();
    if (byte === END) throw this.#error('EOF while parsing a string');
    return byte;
  }

  #skipSpace(): number {
    for (;;) {
      const byte = this.#peek();
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#at += 1;
    }
  }

  /** Names the last byte read. */
  #error(text: string): MalformedError {
    return this.#errorAt(text, this.#at);
  }

  /** Names the next byte, which was looked at only. */
  #errorAtNext(text: string): MalformedError {
    return this.#errorAt(text, Math.min(this.#at + 1, this.#bytes.length));
  }

  /** What the grammar allows and we refuse: the reference then still looks for the container's end, and names that. */
  #errorInside(close: number, text: string): MalformedError {
    if (this.#skipSpace() === close) this.#at += 1;
    return this.#error(text);
  }

  #errorAt(text: string, end: number): MalformedError {
    let line = 1;
    let lineStart = 0;
    for (let at = 0; at < end; at += 1) {
      if (this.#bytes[at] !== 0x0a) continue;
      line += 1;
      lineStart = at + 1;
    }
    return new MalformedError(`${text} at line ${line} column ${end - lineStart}`);
  }
}
