/**
 * What the WebSocket listener says to each HTTP request: the table of refusals, the readiness probe, and which request
 * may become a WebSocket. Pure: it looks at a request head and writes nothing.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { type AuthPolicy, checkAuthorization } from './auth.ts';

export type HttpAnswer = { status: number; body: string; headers: Record<string, string> };
export type RequestHead = { method?: string | undefined; url?: string | undefined; headers: IncomingHttpHeaders };

const NOT_AN_UPGRADE = "Connection header did not include 'upgrade'";

/** The answer to a request, or undefined when it is a well-formed, permitted upgrade. */
export function answerHead(
  { method, url = '', headers }: RequestHead,
  auth: AuthPolicy | undefined,
  nowSeconds: number,
): HttpAnswer | undefined {
  // Browsers always send it, programs never do; no page may talk to this server, whatever else it knows.
  if (headers.origin !== undefined) return emptyAnswer(403);
  const path = toPath(url);
  if (path === '/readyz') {
    return method === 'GET' || method === 'HEAD' ? emptyAnswer(200) : emptyAnswer(405, { allow: 'GET,HEAD' });
  }
  if (path !== '/') return emptyAnswer(404);
  if (method !== 'GET') return plainText(405, 'Request method must be `GET`');
  if (!headers.connection?.toLowerCase().includes('upgrade')) return plainText(400, NOT_AN_UPGRADE);
  if (headers.upgrade?.toLowerCase() !== 'websocket') {
    return plainText(400, "`Upgrade` header did not include 'websocket'");
  }
  const key = headers['sec-websocket-key'];
  if (key === undefined) return plainText(400, '`Sec-WebSocket-Key` header missing');
  if (headers['sec-websocket-version'] !== '13') {
    return plainText(400, "`Sec-WebSocket-Version` header did not include '13'");
  }
  if (!/^[+/0-9A-Za-z]{22}==$/.test(key)) return plainText(400, '`Sec-WebSocket-Key` header is not 16 bytes of base64');
  const verdict = auth ? checkAuthorization(auth, headers.authorization, nowSeconds) : { ok: true as const };
  return verdict.ok ? undefined : plainText(verdict.status, verdict.body);
}

/** The answer when the head looks like an upgrade but the HTTP parser did not take it for one. */
export const notAnUpgrade: HttpAnswer = plainText(400, NOT_AN_UPGRADE);

export function tooManyConnections(limit: number): HttpAnswer {
  return plainText(503, `too many connections (limit ${limit})`);
}

function plainText(status: number, body: string): HttpAnswer {
  return { status, body, headers: { 'content-type': 'text/plain; charset=utf-8' } };
}

export function emptyAnswer(status: number, headers: Record<string, string> = {}): HttpAnswer {
  return { status, body: '', headers };
}

/** The path of an origin-form or absolute-form target, as it was written. */
function toPath(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '') || '/';
}
