import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AuthFlags, resolveWebSocketAuth } from './auth-options.ts';

let cwd = '';
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'farhand-auth-'));
  writeFileSync(join(cwd, 'token'), '  sekret\n');
  writeFileSync(join(cwd, 'blank'), ' \n\t');
  writeFileSync(join(cwd, 'secret'), `${'s'.repeat(32)}\n`);
  writeFileSync(join(cwd, 'short'), `${'s'.repeat(31)}\n`);
});
afterAll(() => rmSync(cwd, { recursive: true }));

const resolve = (flags: AuthFlags, listener: 'websocket' | 'stdio' = 'websocket') =>
  resolveWebSocketAuth(flags, { cwd, readFile: readFileSync, listener });
const digest = createHash('sha256').update('sekret').digest();

test('no flags, no policy', () => {
  expect(resolve({})).toBeUndefined();
  expect(resolve({}, 'stdio')).toBeUndefined();
});

test('a token file is trimmed and only its digest kept', () => {
  expect(resolve({ wsAuth: 'capability-token', wsTokenFile: 'token' })).toEqual({
    type: 'capability-token',
    tokenSha256: digest,
  });
});

test('a digest may be given in either case', () => {
  for (const wsTokenSha256 of [digest.toString('hex'), digest.toString('hex').toUpperCase()]) {
    expect(resolve({ wsAuth: 'capability-token', wsTokenSha256 })).toEqual({
      type: 'capability-token',
      tokenSha256: digest,
    });
  }
});

test('a shared secret is trimmed; issuer and audience too, and blank means unset', () => {
  expect(
    resolve({ wsAuth: 'signed-bearer-token', wsSharedSecretFile: 'secret', wsIssuer: ' me ', wsAudience: ' ' }),
  ).toEqual({
    type: 'signed-bearer-token',
    secret: Buffer.from('s'.repeat(32)),
    issuer: 'me',
    audience: undefined,
    maxClockSkewSeconds: 30,
  });
  expect(
    resolve({ wsAuth: 'signed-bearer-token', wsSharedSecretFile: 'secret', wsMaxClockSkewSeconds: 0 }),
  ).toMatchObject({ maxClockSkewSeconds: 0 });
});

const capability: AuthFlags = { wsAuth: 'capability-token' };
const signed: AuthFlags = { wsAuth: 'signed-bearer-token' };
const NEEDS_SIGNED =
  '`--ws-shared-secret-file`, `--ws-issuer`, `--ws-audience`, and `--ws-max-clock-skew-seconds` require `--ws-auth signed-bearer-token`';
const NEEDS_CAPABILITY =
  '`--ws-token-file` and `--ws-token-sha256` require `--ws-auth capability-token`, not `signed-bearer-token`';
const NEEDS_MODE = 'websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`';
const BAD_DIGEST = '--ws-token-sha256 must be a 64-character hex SHA-256 digest';

test.each<[AuthFlags, string]>([
  [capability, '`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set'],
  [
    { ...capability, wsTokenFile: 'token', wsTokenSha256: 'x' },
    '`--ws-token-file` and `--ws-token-sha256` are mutually exclusive',
  ],
  [{ ...capability, wsTokenSha256: 'abc' }, BAD_DIGEST],
  [{ ...capability, wsTokenSha256: 'g'.repeat(64) }, BAD_DIGEST],
  [{ ...capability, wsTokenSha256: '' }, BAD_DIGEST],
  [signed, '`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set'],
  [{ wsTokenFile: 'token' }, NEEDS_MODE],
  [{ wsTokenSha256: 'x' }, NEEDS_MODE],
  [{ wsSharedSecretFile: 'secret' }, NEEDS_MODE],
  [{ wsIssuer: 'me' }, NEEDS_MODE],
  [{ wsAudience: 'me' }, NEEDS_MODE],
  [{ wsMaxClockSkewSeconds: 0 }, NEEDS_MODE],
  [{ ...capability, wsTokenFile: 'token', wsSharedSecretFile: 'secret' }, NEEDS_SIGNED],
  [{ ...capability, wsTokenFile: 'token', wsIssuer: '' }, NEEDS_SIGNED],
  [{ ...capability, wsTokenFile: 'token', wsAudience: 'me' }, NEEDS_SIGNED],
  [{ ...capability, wsTokenFile: 'token', wsMaxClockSkewSeconds: 30 }, NEEDS_SIGNED],
  [{ ...signed, wsSharedSecretFile: 'secret', wsTokenFile: 'token' }, NEEDS_CAPABILITY],
  [{ ...signed, wsSharedSecretFile: 'secret', wsTokenSha256: 'x' }, NEEDS_CAPABILITY],
  [
    { ...capability, wsTokenFile: 'gone' },
    'failed to read websocket auth secret <cwd>/gone: No such file or directory (os error 2)',
  ],
  [{ ...capability, wsTokenFile: '.' }, 'failed to read websocket auth secret <cwd>: Is a directory (os error 21)'],
  [{ ...capability, wsTokenFile: 'blank' }, 'websocket auth secret <cwd>/blank must not be empty'],
  [{ ...signed, wsSharedSecretFile: 'blank' }, 'websocket auth secret <cwd>/blank must not be empty'],
  [{ ...signed, wsSharedSecretFile: 'short' }, 'signed websocket bearer secret <cwd>/short must be at least 32 bytes'],
])('%j is refused: %s', (flags, text) => {
  expect(() => resolve(flags)).toThrow(new Error(text.replace('<cwd>', cwd)));
});

test('a policy is refused on stdio', () => {
  expect(() => resolve({ ...capability, wsTokenFile: 'token' }, 'stdio')).toThrow(
    new Error('WebSocket auth requires a WebSocket listener, not stdio'),
  );
});
