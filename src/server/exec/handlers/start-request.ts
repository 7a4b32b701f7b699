/** Params of process/start -> what the spawner is asked for, with every check that comes before the start. */

import { MAX_PROCESS_ID_BYTES } from '../../../limits.ts';
import { buildEnvironment } from '../../../process/env.ts';
import type { SpawnRequest } from '../../../process/spawner.ts';
import { ExecError } from '../../../protocol/errors.ts';
import type { execToServer } from '../../../protocol/exec/contract.ts';
import { toNativePath } from '../../../protocol/native-path.ts';
import type { Params } from '../../../protocol/table.ts';
import type { ExecServer } from '../context.ts';
import { checkSandbox } from './sandbox-intent.ts';

export type StartParams = Params<typeof execToServer, 'process/start'>;

// The reference's terminal; a client can change it only through our extension.
const DEFAULT_TERMINAL = { rows: 24, cols: 80 };
const MAX_SNAPSHOT_SCOPE_BYTES = 256;
const SNAPSHOT_SHELLS = ['bash', 'zsh', 'sh'];

/** The request as the spawner wants it. Checks are in the order of the reference: clients see which one fails. */
export function toSpawnRequest(params: StartParams, server: ExecServer): SpawnRequest {
  const { argv, arg0, tty, pipeStdin, env, envPolicy, size } = params;
  checkProcessId(params);
  checkNetworkProxy(params);
  const cwd = toNativeCwd(params);
  checkSandbox(params);
  checkShellSnapshot(params);
  if (argv.length === 0) throw new ExecError('invalidParams', 'argv must not be empty');
  return {
    argv,
    arg0: arg0 ?? undefined,
    cwd,
    env: buildEnvironment({ policy: envPolicy, overlay: env, server: server.environment }),
    stdin: pipeStdin ? 'pipe' : 'none',
    terminal: tty ? (size ?? DEFAULT_TERMINAL) : undefined,
  };
}

function toNativeCwd({ cwd }: StartParams): string {
  try {
    const path = toNativePath(cwd);
    if (typeof path === 'string') return path;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new ExecError('invalidParams', `cwd URI \`${cwd}\` is not valid on this exec-server host: ${detail}`);
  }
  throw new ExecError('internal', `cwd \`${cwd}\` is not UTF-8; this server cannot start processes there`);
}

function checkProcessId({ processId }: StartParams): void {
  if (Buffer.byteLength(processId) <= MAX_PROCESS_ID_BYTES) return;
  throw new ExecError('invalidParams', `process ID must be at most ${MAX_PROCESS_ID_BYTES} bytes`);
}

function checkNetworkProxy({ networkProxy, processId }: StartParams): void {
  if (!networkProxy) return;
  const { policyDecisionTimeoutMs } = networkProxy;
  if (policyDecisionTimeoutMs === 0) {
    throw new ExecError('invalidParams', 'network policy decision callback timeout must be nonzero');
  }
  if (typeof policyDecisionTimeoutMs === 'number' && !hasBytes(processId, 256)) {
    throw new ExecError('invalidParams', 'callback-enabled process ID must be non-empty and at most 256 bytes');
  }
}

/** Snapshots are only a speed-up: the plain command gives the same result, so a valid request is simply run. */
function checkShellSnapshot({ shellSnapshot, argv }: StartParams): void {
  if (!shellSnapshot) return;
  const { scopeId, shell } = shellSnapshot;
  if (!hasBytes(scopeId, MAX_SNAPSHOT_SCOPE_BYTES)) {
    throw new ExecError('invalidParams', 'shell snapshot scope must be non-empty and at most 256 bytes');
  }
  const applies = argv.length >= 3 && argv[0] === shell.path && argv[1] === '-lc';
  if (applies && !SNAPSHOT_SHELLS.includes(shell.name)) {
    throw new ExecError('invalidParams', `shell snapshots are unsupported for shell \`${shell.name}\``);
  }
}

function hasBytes(text: string, most: number): boolean {
  const length = Buffer.byteLength(text);
  return length > 0 && length <= most;
}
