/**
 * Turns the `--ws-…` flags into a policy, or into the one text that says what is wrong with them. Reads the secret files
 * it is told to, through the given function, and keeps nothing.
 */
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { osErrorText } from '../util/os-error.ts';
import type { AuthPolicy } from './auth.ts';

export interface AuthFlags {
  wsAuth?: 'capability-token' | 'signed-bearer-token' | undefined;
  wsTokenFile?: string | undefined;
  wsTokenSha256?: string | undefined;
  wsSharedSecretFile?: string | undefined;
  wsIssuer?: string | undefined;
  wsAudience?: string | undefined;
  wsMaxClockSkewSeconds?: number | undefined;
}

export interface AuthSurroundings {
  /** Relative secret paths start here. */
  cwd: string;
  readFile(path: string): string | Uint8Array;
  /** Where the server listens; a policy makes sense on WebSockets only. */
  listener?: 'websocket' | 'stdio';
}

/** Shorter shared secrets can be guessed from one token. */
const MIN_SHARED_SECRET_BYTES = 32;
const DEFAULT_MAX_CLOCK_SKEW_SECONDS = 30;

/** The policy the flags ask for, undefined when they ask for none. Throws an error with the text to show. */
export function resolveWebSocketAuth(flags: AuthFlags, surroundings: AuthSurroundings): AuthPolicy | undefined {
  const hasTokenFlags = flags.wsTokenFile !== undefined || flags.wsTokenSha256 !== undefined;
  const hasBearerFlags =
    flags.wsSharedSecretFile !== undefined ||
    flags.wsIssuer !== undefined ||
    flags.wsAudience !== undefined ||
    flags.wsMaxClockSkewSeconds !== undefined;
  if (flags.wsAuth === undefined) {
    if (!hasTokenFlags && !hasBearerFlags) return undefined;
    throw new Error('websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`');
  }
  if (flags.wsAuth === 'capability-token' && hasBearerFlags) {
    throw new Error(
      '`--ws-shared-secret-file`, `--ws-issuer`, `--ws-audience`, and `--ws-max-clock-skew-seconds` require `--ws-auth signed-bearer-token`',
    );
  }
  if (flags.wsAuth === 'signed-bearer-token' && hasTokenFlags) {
    throw new Error(
      '`--ws-token-file` and `--ws-token-sha256` require `--ws-auth capability-token`, not `signed-bearer-token`',
    );
  }
  const policy =
    flags.wsAuth === 'capability-token'
      ? toCapabilityPolicy(flags, surroundings)
      : toSignedBearerPolicy(flags, surroundings);
  if (surroundings.listener === 'stdio') throw new Error('WebSocket auth requires a WebSocket listener, not stdio');
  return policy;
}

function toCapabilityPolicy(flags: AuthFlags, surroundings: AuthSurroundings): AuthPolicy {
  const { wsTokenFile, wsTokenSha256 } = flags;
  if (wsTokenFile !== undefined && wsTokenSha256 !== undefined) {
    throw new Error('`--ws-token-file` and `--ws-token-sha256` are mutually exclusive');
  }
  if (wsTokenFile !== undefined) {
    const token = readSecret(wsTokenFile, surroundings).text;
    return { type: 'capability-token', tokenSha256: createHash('sha256').update(token).digest() };
  }
  if (wsTokenSha256 === undefined) {
    throw new Error('`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set');
  }
  const hex = wsTokenSha256.trim();
  if (!/^[0-9a-fA-F]{64}$/.test(hex)) {
    throw new Error('--ws-token-sha256 must be a 64-character hex SHA-256 digest');
  }
  return { type: 'capability-token', tokenSha256: Buffer.from(hex, 'hex') };
}

function toSignedBearerPolicy(flags: AuthFlags, surroundings: AuthSurroundings): AuthPolicy {
  if (flags.wsSharedSecretFile === undefined) {
    throw new Error('`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set');
  }
  const { path, text } = readSecret(flags.wsSharedSecretFile, surroundings);
  const secret = Buffer.from(text);
  if (secret.length < MIN_SHARED_SECRET_BYTES) {
    throw new Error(`signed websocket bearer secret ${path} must be at least ${MIN_SHARED_SECRET_BYTES} bytes`);
  }
  return {
    type: 'signed-bearer-token',
    secret,
    issuer: flags.wsIssuer?.trim() || undefined,
    audience: flags.wsAudience?.trim() || undefined,
    maxClockSkewSeconds: flags.wsMaxClockSkewSeconds ?? DEFAULT_MAX_CLOCK_SKEW_SECONDS,
  };
}

function readSecret(file: string, surroundings: AuthSurroundings): { path: string; text: string } {
  const path = resolve(surroundings.cwd, file);
  let contents: string | Uint8Array;
  try {
    contents = surroundings.readFile(path);
  } catch (cause) {
    throw new Error(`failed to read websocket auth secret ${path}: ${osErrorText(cause)}`, { cause });
  }
  const text = (typeof contents === 'string' ? contents : Buffer.from(contents).toString('utf8')).trim();
  if (text === '') throw new Error(`websocket auth secret ${path} must not be empty`);
  return { path, text };
}
