/**
 * The type of a contract: method name -> row. A row with a `result` is a request, one without is a notification.
 * Handlers, calls, validation, gate texts and the printed reference are derived from rows; nothing here does I/O.
 */
import type * as z from 'zod/mini';

/**
 * `inline` is answered before the next message is looked at; `ordinary` requests of a connection run in order;
 * `control` requests are not held up by ordinary ones.
 */
export type Lane = 'inline' | 'ordinary' | 'control';

export type Row = {
  params: z.ZodMiniType;
  result?: z.ZodMiniType;
  /** Named in the texts of the handshake gate; absent for methods that are allowed before the handshake. */
  family?: string;
  lane?: Lane;
  /** `stock` is spoken by the reference; `extension` is ours and announced. */
  since: 'stock' | 'extension';
  /** What the reference calls the params in its decoding errors; `unit` for none. */
  struct: string;
  summary: string;
};

export type Table = Record<string, Row>;

/** Checks that every row is a row and keeps its exact type. */
export function table<const T extends Table>(rows: T): T {
  return rows;
}

type RequestMethod<T extends Table> = {
  [M in keyof T & string]: T[M] extends { result: z.ZodMiniType } ? M : never;
}[keyof T & string];

export type Requests<T extends Table> = RequestMethod<T>;
export type Notifications<T extends Table> = Exclude<keyof T & string, RequestMethod<T>>;

/** What travels: base64 text, URI strings. Written by callers. */
export type WireParams<T extends Table, M extends keyof T> = z.input<T[M]['params']>;
/** What handlers get: bytes, parsed paths, defaults filled in. */
export type Params<T extends Table, M extends keyof T> = z.output<T[M]['params']>;

type ResultSchema<T extends Table, M extends keyof T> = T[M] extends { result: infer R extends z.ZodMiniType }
  ? R
  : never;
/** What a handler returns, key order as in the row. */
export type WireResult<T extends Table, M extends keyof T> = z.input<ResultSchema<T, M>>;
/** What a caller gets back. */
export type Result<T extends Table, M extends keyof T> = z.output<ResultSchema<T, M>>;
