/** process/*: params -> session -> result. Checks are in the order of the reference, because clients see which one fails. */
import { buildEnvironment } from '../../../process/env.ts';
import type { Process } from '../../../process/process.ts';
import type { SpawnRequest } from '../../../process/spawner.ts';
import { ExecError } from '../../../protocol/errors.ts';
import type { execToServer } from '../../../protocol/exec/contract.ts';
import { toNativePath } from '../../../protocol/native-path.ts';
import type { Params } from '../../../protocol/table.ts';
import type { Call, Handlers } from '../../../rpc/dispatcher.ts';
import type { ExecContext, ExecServer } from '../context.ts';
import { checkSandbox } from './sandbox-intent.ts';

type Methods = 'process/start' | 'process/read' | 'process/write' | 'process/signal' | 'process/terminate';
type StartParams = Params<typeof execToServer, 'process/start'>;

// The reference's terminal; a client can change it only through our extension.
const DEFAULT_TERMINAL = { rows: 24, cols: 80 };
const MAX_SNAPSHOT_SCOPE_BYTES = 256;
const SNAPSHOT_SHELLS = ['bash', 'zsh', 'sh'];

export const processHandlers: Pick<Handlers<typeof execToServer, ExecContext>, Methods> = {
  'process/start': async (params, context, call) => {
    const process = await context.session.start(params.processId, toSpawnRequest(params, context.server));
    call.afterReply(() => process.begin());
    return { processId: process.id, sandboxType: 'none' };
  },

  'process/read': async ({ processId, afterSeq, maxBytes, waitMs }, { session }, call) => {
    const process = session.find(processId);
    if (process === undefined) throw new ExecError('invalidRequest', `unknown process id ${processId}`);
    if (process === 'starting') throw new ExecError('invalidRequest', `process id ${processId} is starting`);
    const request = { afterSeq: afterSeq ?? 0, maxBytes: maxBytes ?? undefined, waitMs: waitMs ?? 0 };
    const { chunks, nextSeq, state, lost } = await session.read(process, request, call.signal, () => call.leaveLane());
    return {
      chunks: chunks.map(({ seq, stream, bytes }) => ({ seq, stream, chunk: toBase64(bytes) })),
      nextSeq,
      exited: state.type !== 'running',
      exitCode: state.type === 'running' ? null : state.exitCode,
      closed: state.type === 'closed',
      failure: null,
      sandboxDenied: false,
      ...(lost && { firstSeq: lost.firstSeq, lostBytes: lost.bytes }),
    };
  },

  'process/write': async ({ processId, chunk, writeId }, { session }, call) => {
    if (writeId === '') throw new ExecError('invalidParams', 'writeId must not be empty');
    const process = session.find(processId);
    if (process === undefined) return { status: 'unknownProcess' };
    if (process === 'starting') return { status: 'starting' };
    return { status: await process.write(writeId, chunk, () => call.leaveLane()) };
  },

  'process/signal': ({ processId }, context, call) => {
    const process = findOrCancel(processId, context, call);
    if (typeof process === 'object') process.signal('SIGINT');
    return {};
  },

  'process/terminate': ({ processId }, context, call) => {
    const process = findOrCancel(processId, context, call);
    if (process === 'cancelled') return { running: true };
    return { running: process?.terminate() ?? false };
  },
};

/** The process; a start that was asked for earlier and is not done yet is cancelled instead. */
function findOrCancel(processId: string, { session }: ExecContext, call: Call): Process | 'cancelled' | undefined {
  const process = session.find(processId);
  if (process === 'starting') {
    session.cancelStart(processId);
    return 'cancelled';
  }
  if (process) return process;
  const isStart = (params: unknown): boolean => (params as StartParams).processId === processId;
  const reason = new ExecError('invalidRequest', `process ${processId} start was cancelled`);
  return call.cancelQueued('process/start', isStart, reason) ? 'cancelled' : undefined;
}

function toSpawnRequest(params: StartParams, server: ExecServer): SpawnRequest {
  const { argv, arg0, tty, pipeStdin, env, envPolicy } = params;
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
    terminal: tty ? DEFAULT_TERMINAL : undefined,
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

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
