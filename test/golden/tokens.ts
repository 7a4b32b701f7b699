/** The signed tokens that a recording only names, made with the key, issuer and audience of its server. */
import { createHmac } from 'node:crypto';

export const SIGNED_AUTH = {
  type: 'signed-bearer-token',
  secret: 'golden-shared-secret-0123456789abcdef',
  issuer: 'iss',
  audience: 'aud',
} as const;

type Claims = Record<string, string | number | string[] | undefined>;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
// Inside the 30 s that the clocks of two machines may differ, with room for a slow test.
const SKEW = 15;

/** The token that `<jwt name>` stands for. */
export function makeToken(name: string, now = Math.floor(Date.now() / 1000)): string {
  const good: Claims = { iss: 'iss', aud: 'aud', exp: now + HOUR };
  switch (name) {
    case 'ok':
      return sign(good);
    case 'audlist':
      return sign({ ...good, aud: ['other', 'aud'] });
    case 'noexp':
      return sign({ ...good, exp: undefined });
    case 'expired':
      return sign({ ...good, exp: now - MINUTE });
    case 'withinskew':
      return sign({ ...good, exp: now - SKEW });
    case 'nbffuture':
      return sign({ ...good, nbf: now + MINUTE });
    case 'nbfskew':
      return sign({ ...good, nbf: now + SKEW });
    case 'badiss':
      return sign({ ...good, iss: 'other' });
    case 'noiss':
      return sign({ ...good, iss: undefined });
    case 'badaud':
      return sign({ ...good, aud: 'other' });
    case 'hs512':
      return sign(good, { alg: 'HS512', hash: 'sha512' });
    case 'none':
      return sign(good, { alg: 'none' });
    case 'badkey':
      return sign(good, { key: 'another-shared-secret-0123456789abcdef' });
    case 'garbage':
      return 'garbage';
    default:
      throw new Error(`no recipe for the token ${name}`);
  }
}

type Signing = { alg?: string; hash?: string; key?: string };

function sign(claims: Claims, { alg = 'HS256', hash = 'sha256', key = SIGNED_AUTH.secret }: Signing = {}): string {
  const head = [{ alg, typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${head}.${alg === 'none' ? '' : createHmac(hash, key).update(head).digest('base64url')}`;
}
