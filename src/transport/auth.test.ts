import { createHash, createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { type AuthPolicy, checkAuthorization } from './auth.ts';

const NOW = 1_800_000_000;
const refused = (body: string) => ({ ok: false, status: 401, body });
const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

const capability: AuthPolicy = { type: 'capability-token', tokenSha256: sha256('sekret-token-0123456789') };

/* Recorded from the reference server. */
test.each<[string | undefined, string | undefined]>([
  [undefined, 'missing websocket bearer token'],
  ['Bearer sekret-token-0123456789', undefined],
  ['bearer   sekret-token-0123456789  ', undefined],
  ['Bearer wrong', 'invalid websocket bearer token'],
  ['Basic sekret-token-0123456789', 'invalid authorization header'],
  ['sekret-token-0123456789', 'invalid authorization header'],
  ['Bearer ', 'invalid authorization header'],
  ['Bearer', 'invalid authorization header'],
  ['', 'invalid authorization header'],
  ['Bearer s\u00e9kret', 'invalid authorization header'],
])('capability token: %j gives %j', (header, body) => {
  expect(checkAuthorization(capability, header, NOW)).toEqual(body === undefined ? { ok: true } : refused(body));
});

const SECRET = Buffer.from('0123456789abcdef0123456789abcdef');
const signed: AuthPolicy = {
  type: 'signed-bearer-token',
  secret: SECRET,
  issuer: 'iss',
  audience: 'aud',
  maxClockSkewSeconds: 30,
};

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
function jwt(
  claims: unknown,
  { alg = 'HS256', hash = 'sha256', secret = SECRET }: Partial<{ alg: string; hash: string; secret: Buffer }> = {},
): string {
  const text = `${encode({ alg, typ: 'JWT' })}.${encode(claims)}`;
  return `${text}.${createHmac(hash, secret).update(text).digest('base64url')}`;
}
const good = { exp: NOW + 60, iss: 'iss', aud: 'aud' };
const unsigned = `${encode({ alg: 'none' })}.${encode(good)}.`;
const [goodHead, , goodSignature] = jwt(good).split('.');

/* The first block is recorded from the reference server, each made into a token of that kind. */
test.each<[string, string, string | undefined]>([
  ['ok', jwt(good), undefined],
  ['audlist', jwt({ ...good, aud: ['other', 'aud'] }), undefined],
  ['noexp', jwt({ iss: 'iss', aud: 'aud' }), 'invalid websocket jwt'],
  ['expired', jwt({ ...good, exp: NOW - 31 }), 'expired websocket jwt'],
  ['withinskew', jwt({ ...good, exp: NOW - 30 }), undefined],
  ['nbffuture', jwt({ ...good, nbf: NOW + 31 }), 'websocket jwt is not valid yet'],
  ['nbfskew', jwt({ ...good, nbf: NOW + 30 }), undefined],
  ['badiss', jwt({ ...good, iss: 'x' }), 'websocket jwt issuer mismatch'],
  ['noiss', jwt({ exp: NOW + 60, aud: 'aud' }), 'websocket jwt issuer mismatch'],
  ['badaud', jwt({ ...good, aud: 'x' }), 'websocket jwt audience mismatch'],
  ['hs512', jwt(good, { alg: 'HS512', hash: 'sha512' }), 'invalid websocket jwt'],
  ['none', unsigned, 'invalid websocket jwt'],
  ['badkey', jwt(good, { secret: Buffer.from('x'.repeat(32)) }), 'invalid websocket jwt'],
  ['garbage', 'garbage', 'invalid websocket jwt'],

  ['no audience', jwt({ exp: NOW + 60, iss: 'iss' }), 'websocket jwt audience mismatch'],
  ['empty audience list', jwt({ ...good, aud: [] }), 'websocket jwt audience mismatch'],
  ['exp as text', jwt({ ...good, exp: '1900000000' }), 'invalid websocket jwt'],
  ['exp as a fraction', jwt({ ...good, exp: NOW + 0.5 }), 'invalid websocket jwt'],
  ['exp beyond 64 bits', jwt({ ...good, exp: 1e30 }), 'invalid websocket jwt'],
  ['exp at the limit', jwt({ ...good, exp: 2 ** 63 }), undefined],
  ['nbf as text', jwt({ ...good, nbf: 'x' }), 'invalid websocket jwt'],
  ['nbf null', jwt({ ...good, nbf: null }), undefined],
  ['iss as a number', jwt({ ...good, iss: 5 }), 'invalid websocket jwt'],
  ['aud as a number', jwt({ ...good, aud: 5 }), 'invalid websocket jwt'],
  ['aud list with a number', jwt({ ...good, aud: ['aud', 5] }), 'invalid websocket jwt'],
  ['expired before issuer', jwt({ exp: NOW - 31, iss: 'x' }), 'expired websocket jwt'],
  ['issuer before audience', jwt({ exp: NOW + 60, iss: 'x', aud: 'x' }), 'websocket jwt issuer mismatch'],
  ['claims not an object', jwt([good]), 'invalid websocket jwt'],
  ['HS256 claimed, signed otherwise', jwt(good, { hash: 'sha512' }), 'invalid websocket jwt'],
  [
    'claims swapped under a good signature',
    `${goodHead}.${encode({ ...good, iss: 'x' })}.${goodSignature}`,
    'invalid websocket jwt',
  ],
  ['padded signature', `${jwt(good)}=`, 'invalid websocket jwt'],
  ['a fourth part', `${jwt(good)}.x`, 'invalid websocket jwt'],
  ['empty signature', `${jwt(good).split('.').slice(0, 2).join('.')}.`, 'invalid websocket jwt'],
])('signed bearer token: %s', (_name, token, body) => {
  const verdict = checkAuthorization(signed, `Bearer ${token}`, NOW);
  expect(verdict).toEqual(body === undefined ? { ok: true } : refused(body));
});

test('without a configured issuer and audience neither is asked for', () => {
  const policy: AuthPolicy = { ...signed, issuer: undefined, audience: undefined };
  expect(checkAuthorization(policy, `Bearer ${jwt({ exp: NOW })}`, NOW)).toEqual({ ok: true });
});

test('no token means the same with either policy', () => {
  expect(checkAuthorization(signed, undefined, NOW)).toEqual(refused('missing websocket bearer token'));
});
