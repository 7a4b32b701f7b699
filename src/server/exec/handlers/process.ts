/** process/*: params -> session -> result. */
import type { Process } from '../../../process/process.ts';
import { ExecError } from '../../../protocol/errors.ts';
import type { execToServer } from '../../../protocol/exec/contract.ts';
import { fromNativePath } from '../../../protocol/native-path.ts';
import type { WireResult } from '../../../protocol/table.ts';
import type { Call, Handlers } from '../../../rpc/dispatcher.ts';
import { exitDetails } from '../../notifier.ts';
import type { ExecContext } from '../context.ts';
import type { Session } from '../session.ts';
import { type StartParams, toSpawnRequest } from './start-request.ts';

type Methods = Extract<keyof Handlers<typeof execToServer, ExecContext>, `process/${string}`>;

const SIGNALS = {
  interrupt: 'SIGINT',
  hangup: 'SIGHUP',
  quit: 'SIGQUIT',
  terminate: 'SIGTERM',
  kill: 'SIGKILL',
  usr1: 'SIGUSR1',
  usr2: 'SIGUSR2',
  stop: 'SIGSTOP',
  continue: 'SIGCONT',
  winch: 'SIGWINCH',
} as const;

export const processHandlers: Pick<Handlers<typeof execToServer, ExecContext>, Methods> = {
  'process/start': async (params, context, call) => {
    const { timeoutMs, idleTimeoutMs } = params;
    const process = await context.session.start(params.processId, toSpawnRequest(params, context.server), {
      timeoutMs: timeoutMs ?? undefined,
      idleTimeoutMs: idleTimeoutMs ?? undefined,
    });
    call.afterReply(() => process.begin());
    return { processId: process.id, sandboxType: 'none' };
  },

  'process/read': async ({ processId, afterSeq, maxBytes, waitMs }, { session }, call) => {
    const process = findLive(processId, session);
    const request = { afterSeq: afterSeq ?? 0, maxBytes: maxBytes ?? undefined, waitMs: waitMs ?? 0 };
    const { chunks, nextSeq, state, lost } = await session.read(process, request, call.signal, () => call.leaveLane());
    if (chunks.length > 0) await call.sendTurn(); // Encoded only when it can leave.
    return {
      chunks: chunks.map(({ seq, stream, bytes }) => ({ seq, stream, chunk: toBase64(bytes) })),
      nextSeq,
      exited: state.type !== 'running',
      exitCode: state.type === 'running' ? null : state.exit.exitCode,
      closed: state.type === 'closed',
      failure: null,
      sandboxDenied: false,
      ...(lost && { firstSeq: lost.firstSeq, lostBytes: lost.bytes }),
      ...(state.type !== 'running' && exitDetails(state.exit)),
    };
  },

  'process/write': async ({ processId, chunk, writeId }, { session }, call) => {
    if (writeId === '') throw new ExecError('invalidParams', 'writeId must not be empty');
    const process = session.find(processId);
    if (process === undefined) return { status: 'unknownProcess' };
    if (process === 'starting') return { status: 'starting' };
    return { status: await process.write(writeId, chunk, () => call.leaveLane()) };
  },

  'process/signal': ({ processId, signal }, context, call) => {
    const process = findOrCancel(processId, context, call);
    if (typeof process === 'object') process.signal(SIGNALS[signal]);
    return {};
  },

  'process/terminate': ({ processId, graceMs }, context, call) => {
    const process = findOrCancel(processId, context, call);
    if (process === 'cancelled') return { running: true };
    return { running: process?.terminate(graceMs ?? undefined) ?? false };
  },

  'process/resize': ({ processId, size }, { session }) => {
    findLive(processId, session).resize(size);
    return {};
  },

  'process/closeStdin': async ({ processId }, { session }, call) => {
    await findLive(processId, session).closeStdin(() => call.leaveLane());
    return {};
  },

  'process/flow': ({ processId, paused }, { session }) => {
    const process = findLive(processId, session);
    if (paused) process.pause('flow');
    else process.resume('flow');
    return {};
  },

  'process/list': (_params, { session }) => ({ processes: Array.from(session.processes(), toListEntry) }),
};

type ListEntry = WireResult<typeof execToServer, 'process/list'>['processes'][number];

/** What a list says of one process. */
export function toListEntry({ id, request, pid, state, startedAtMs, nextSeq }: Process): ListEntry {
  return {
    processId: id,
    argv: [...request.argv],
    cwd: fromNativePath(request.cwd),
    tty: request.terminal !== undefined,
    pid,
    state: state.type,
    startedAtMs,
    nextSeq,
    exit: state.type === 'running' ? null : { exitCode: state.exit.exitCode, ...exitDetails(state.exit) },
  };
}

function findLive(processId: string, session: Session): Process {
  const process = session.find(processId);
  if (process === undefined) throw new ExecError('invalidRequest', `unknown process id ${processId}`);
  if (process === 'starting') throw new ExecError('invalidRequest', `process id ${processId} is starting`);
  return process;
}

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

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
