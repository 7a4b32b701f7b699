/**
 * Decides whether the `Authorization` header of an upgrade is good enough. Pure: the policy and the time come in as
 * arguments. No token, and nothing made from one, may leave this file.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export type AuthPolicy =
  | { type: 'capability-token'; tokenSha256: Uint8Array }
  | {
      type: 'signed-bearer-token';
      secret: Uint8Array;
      issuer: string | undefined;
      audience: string | undefined;
      maxClockSkewSeconds: number;
    };

export type AuthVerdict = { ok: true } | { ok: false; status: 401; body: string };

const BAD_JWT = 'invalid websocket jwt';

/** Checks the header against the policy; `nowSeconds` is Unix time. */
export function checkAuthorization(policy: AuthPolicy, header: string | undefined, nowSeconds: number): AuthVerdict {
  const refusal = findRefusal(policy, header, nowSeconds);
  return refusal === undefined ? { ok: true } : { ok: false, status: 401, body: refusal };
}

function findRefusal(policy: AuthPolicy, header: string | undefined, nowSeconds: number): string | undefined {
  if (header === undefined) return 'missing websocket bearer token';
  const token = toBearerToken(header);
  if (token === undefined) return 'invalid authorization header';
  if (policy.type === 'capability-token') {
    const digest = createHash('sha256').update(token).digest();
    return timingSafeEqual(digest, policy.tokenSha256) ? undefined : 'invalid websocket bearer token';
  }
  const claims = toClaims(token, policy.secret);
  if (claims === undefined) return BAD_JWT;
  const skew = policy.maxClockSkewSeconds;
  if (nowSeconds > claims.exp + skew) return 'expired websocket jwt';
  if (claims.nbf !== undefined && nowSeconds < claims.nbf - skew) return 'websocket jwt is not valid yet';
  if (policy.issuer !== undefined && claims.iss !== policy.issuer) return 'websocket jwt issuer mismatch';
  if (policy.audience !== undefined && !claims.aud.includes(policy.audience)) return 'websocket jwt audience mismatch';
  return undefined;
}

function toBearerToken(header: string): string | undefined {
  const space = header.indexOf(' ');
  if (space < 0 || !/^[\t\x20-\x7e]*$/.test(header)) return undefined;
  if (header.slice(0, space).toLowerCase() !== 'bearer') return undefined;
  return header.slice(space + 1).trim() || undefined;
}

type Claims = { exp: number; nbf: number | undefined; iss: string | undefined; aud: string[] };

/**
 * The claims of a JWT signed with HS256 and this secret. One algorithm and one key: an HMAC over the text as it came,
 * compared in constant time before anything inside the payload is looked at.
 */
function toClaims(token: string, secret: Uint8Array): Claims | undefined {
  const parts = token.split('.');
  const [head, payload, signature] = parts;
  if (parts.length !== 3 || head === undefined || payload === undefined || signature === undefined) return undefined;
  if (toRecord(fromBase64Url(head))?.alg !== 'HS256') return undefined;
  const expected = createHmac('sha256', secret).update(`${head}.${payload}`).digest();
  const given = fromBase64Url(signature);
  if (given?.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const record = toRecord(fromBase64Url(payload));
  return record && readClaims(record);
}

function readClaims(record: Record<string, unknown>): Claims | undefined {
  const { exp, nbf = null, iss = null, aud = null } = record;
  if (!isInteger(exp) || (nbf !== null && !isInteger(nbf))) return undefined;
  if (iss !== null && typeof iss !== 'string') return undefined;
  const audiences = aud === null ? [] : typeof aud === 'string' ? [aud] : aud;
  if (!Array.isArray(audiences) || !audiences.every((one) => typeof one === 'string')) return undefined;
  return { exp, nbf: nbf ?? undefined, iss: iss ?? undefined, aud: audiences };
}

/** What a signed 64-bit integer can hold. */
function isInteger(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 2 ** 63;
}

/** Strict: no padding, no stray characters, no leftover bits. Node's own decoder skips what it does not know. */
function fromBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

function toRecord(bytes: Buffer | undefined): Record<string, unknown> | undefined {
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined; // Not UTF-8 or not JSON, which is an answer here and no failure of ours.
  }
}
