/**
 * What `environment/info` says of this machine, in the reference's key order. Capabilities name only what works here;
 * `extensions` names what we add.
 */
import { createHash } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { basename, delimiter, isAbsolute, join } from 'node:path';
import type { execToServer } from '../../protocol/exec/contract.ts';
import { fromNativePath } from '../../protocol/native-path.ts';
import type { WireResult } from '../../protocol/table.ts';

export type EnvironmentInfo = WireResult<typeof execToServer, 'environment/info'>;

export type InfoInputs = {
  version: string;
  environment: Readonly<Record<string, string | undefined>>;
  cwd: string | undefined;
  admin: boolean;
};

// The release whose protocol we speak; ours follows as build metadata, so that clients can still compare versions.
const PROTOCOL_RELEASE = '0.166.0';

const EXTENSIONS = [
  'initialize.authToken',
  'process/closeStdin',
  'process/exited.reason',
  'process/exited.signal',
  'process/flow',
  'process/list',
  'process/read.firstSeq',
  'process/read.lostBytes',
  'process/resize',
  'process/signal',
  'process/start.idleTimeoutMs',
  'process/start.size',
  'process/start.timeoutMs',
  'process/terminate.graceMs',
];
const ADMIN_EXTENSIONS = ['admin/processes', 'admin/terminate'];

export function readEnvironmentInfo({ version, environment, cwd, admin }: InfoInputs): EnvironmentInfo {
  const home = environment.HOME ?? userInfo().homedir;
  const temporary = environment.TMPDIR ? resolveFrom(cwd, environment.TMPDIR) : undefined;
  return {
    shell: findShell(environment.PATH),
    executorVersion: `${PROTOCOL_RELEASE}+farhand.${version}`,
    providerId: providerId(),
    cwd: cwd === undefined ? null : toUri(cwd),
    userHomeDir: toUri(home),
    platformOs: process.platform === 'darwin' ? 'macos' : process.platform === 'win32' ? 'windows' : process.platform,
    temporaryDirectories: temporary === undefined ? [] : [toUri(temporary)],
    tempDir: toUri(temporary ?? '/tmp'),
    capabilities: {
      networkProxyLaunch: false,
      networkProxyReviewDomains: false,
      credentialMasking: false,
      credentialMaskingCustomProviders: false,
      capabilityDiscoverySandbox: false,
      fsWatchMissing: false,
      capabilityDiscoveryV2: false,
      environmentConfigRead: false,
      httpHeaderEnvVars: false,
      sandboxedFileStreaming: false,
      fileWriteStreaming: false,
      shellSnapshotV2: false,
      windowsMxc: false,
      linuxRootWritePreservesDevices: false,
      linuxApprovedRootWritePreservesRestrictions: false,
    },
    extensions: admin ? [...EXTENSIONS, ...ADMIN_EXTENSIONS] : EXTENSIONS,
  };
}

const toUri = (path: string): string => fromNativePath(path);
const resolveFrom = (cwd: string | undefined, path: string): string =>
  isAbsolute(path) || cwd === undefined ? path : join(cwd, path);

/** The account's shell if it is one a client can drive, else bash, zsh, sh. `$SHELL` is not asked, as in the reference. */
function findShell(path: string | undefined): EnvironmentInfo['shell'] {
  const account = accountShell();
  if (account && isExecutable(account)) {
    const name = shellName(account);
    if (name) return { name, path: account };
  }
  const order = process.platform === 'darwin' ? (['zsh', 'bash'] as const) : (['bash', 'zsh'] as const);
  const folders = [...(path ?? '').split(delimiter).filter(isAbsolute), '/bin', '/usr/bin'];
  for (const name of order) {
    const found = folders.map((folder) => join(folder, name)).find(isExecutable);
    if (found) return { name, path: found };
  }
  return { name: 'sh', path: '/bin/sh' };
}

function accountShell(): string | null {
  try {
    return userInfo().shell;
  } catch {
    return null; // No account entry for this user id: containers do that.
  }
}

function shellName(path: string): 'zsh' | 'bash' | 'sh' | undefined {
  const name = basename(path);
  return name === 'zsh' || name === 'bash' || name === 'sh' ? name : undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Stable per machine and revealing nothing of it. */
function providerId(): string {
  let machine = hostname();
  for (const file of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try {
      machine = readFileSync(file, 'utf8').trim() || machine;
      break;
    } catch {
      // Not every system has one; the host name is the next best thing.
    }
  }
  return `sha256:${createHash('sha256').update(`farhand provider ${machine}`).digest('hex')}`;
}
