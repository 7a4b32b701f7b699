/**
 * The four shapes of the protocol (JSON-RPC 2.0 without the `jsonrpc` member) plus `malformed`, as plain data.
 * Pure types: decoding is in decode.ts, encoding in encode.ts.
 */

/** Echoed exactly as received; `bigint` only for integers that a JavaScript number cannot hold. */
export type RequestId = string | number | bigint;

export type WireError = { code: number; message: string; data?: unknown };

export type Message =
  /** `size` is the length of its encoded form, where the transport knows it; budgets count it. */
  | { type: 'request'; id: RequestId; method: string; params: unknown; size?: number }
  | { type: 'notification'; method: string; params: unknown }
  | { type: 'response'; id: RequestId; result: unknown }
  | { type: 'error'; id: RequestId; error: WireError }
  /** Not a message at all; `detail` says why, without the transport's prefix. */
  | { type: 'malformed'; detail: string };

/** One encoded message without terminator: text, or UTF-8 bytes where the encoder produced bytes directly. */
export type Frame = string | Uint8Array;
