/**
 * The one error class of the engine and the closed list of its kinds. Work folders throw it by kind; only `rpc/` turns
 * a kind into a number, with the table below.
 */
export const CODES = {
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  notFound: -32004,
  alreadyAttached: -32010,
  unauthorized: -32001,
} as const;

export type ErrorKind = keyof typeof CODES;

/** A failure whose text may be shown to the peer. Anything else that is thrown is `internal` on the wire. */
export class ExecError extends Error {
  override readonly name = 'ExecError';
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
