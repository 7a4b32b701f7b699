/** Schemas of processes: start, read, write, signal, terminate, and what is told about them. */
import * as z from 'zod/mini';
import { bytes, extension, i32, looseStruct, note, nullish, pathUri, struct, texts, u16, u64 } from '../values.ts';
import { shell } from './environment.ts';
import { managedNetwork, networkProxy } from './network.ts';
import { sandbox } from './sandbox.ts';

const processId = z.string();
const terminalSize = struct('TerminalSize', { rows: u16, cols: u16 });
const exitSignal = note('The signal that ended it, e.g. `SIGTERM`; absent when none did.', extension(z.string()));
const exitReason = note(
  'Why it ended; absent when it simply exited.',
  extension(z.enum(['exited', 'signalled', 'timedOut', 'idleTimedOut', 'terminated'])),
);
const seq = note('One counter per process, from 1, shared by output, exit and close.', u64);
const stream = z.enum(['stdout', 'stderr', 'pty']);

const envPolicy = struct('ExecEnvPolicy', {
  inherit: note("What is taken from the server's own environment.", z.enum(['core', 'all', 'none'])),
  ignoreDefaultExcludes: note('False drops names like `*KEY*`, `*SECRET*`, `*TOKEN*`.', z.boolean()),
  exclude: note('Name patterns with `*` and `?`.', z.array(z.string())),
  set: texts,
  includeOnly: note('Name patterns; empty means all.', z.array(z.string())),
});

const metadata = looseStruct('ExecMetadata', { threadId: nullish(z.string()), toolCallId: nullish(z.string()) });

const shellSnapshot = struct('ShellSnapshotRequest', {
  scopeId: note('1 to 256 bytes.', z.string()),
  shell,
});

export const startParams = z.object({
  processId: note('Chosen by the client, unique in the session; may be empty.', processId),
  metadata: nullish(metadata),
  argv: note('The first item is the program.', z.array(z.string())),
  cwd: pathUri,
  envPolicy: note('Absent: the environment is `env` exactly.', nullish(envPolicy)),
  shellSnapshot: note('Only with the capability `shellSnapshotV2`.', nullish(shellSnapshot)),
  env: note('Laid over what the policy gives.', texts),
  tty: note('A terminal instead of pipes.', z.boolean()),
  pipeStdin: note('Keeps stdin writable without a terminal.', z._default(z.boolean(), false)),
  arg0: note('What the program sees as its own name.', nullish(z.string())),
  sandbox: nullish(sandbox),
  enforceManagedNetwork: z._default(z.boolean(), false),
  managedNetwork: nullish(managedNetwork),
  networkProxy: nullish(networkProxy),
  size: note('Of the terminal; 24 rows and 80 columns by default.', extension(z.nullable(terminalSize))),
  timeoutMs: note('The server ends the tree after this long.', extension(z.nullable(u64))),
  idleTimeoutMs: note(
    'The server ends the tree when nothing was printed or written for this long.',
    extension(z.nullable(u64)),
  ),
});

export const startResult = z.object({
  processId,
  sandboxType: nullish(z.enum(['none', 'macosSeatbelt', 'linuxSeccomp', 'windowsRestrictedToken'])),
});

export const readParams = z.object({
  processId,
  afterSeq: note('Default 0.', nullish(u64)),
  maxBytes: note('Unlimited when absent; the first chunk is always whole.', nullish(u64)),
  waitMs: note('How long to wait for something new; default 0.', nullish(u64)),
});

export const readResult = z.object({
  chunks: z.array(struct('ProcessOutputChunk', { seq, stream, chunk: bytes })),
  nextSeq: u64,
  exited: z.boolean(),
  exitCode: note('Null until the exit.', z.nullable(i32)),
  closed: note('No more output will follow.', z.boolean()),
  failure: z.nullable(z.string()),
  sandboxDenied: z._default(z.boolean(), false),
  firstSeq: note('The oldest output still held.', extension(u64)),
  lostBytes: note(
    'All output that is no longer held: where the oldest held chunk begins in the stream.',
    extension(u64),
  ),
  signal: exitSignal,
  reason: exitReason,
});

export const writeParams = z.object({
  processId,
  chunk: bytes,
  writeId: note('Not empty. A write that is sent again under its id is done once.', z.string()),
});

export const writeResult = z.object({ status: z.enum(['accepted', 'unknownProcess', 'stdinClosed', 'starting']) });

export const signalParams = z.object({
  processId,
  signal: note(
    'The reference knows `interrupt` alone.',
    z.enum(['interrupt', 'hangup', 'quit', 'terminate', 'kill', 'usr1', 'usr2', 'stop', 'continue', 'winch']),
  ),
});

export const terminateParams = z.object({
  processId,
  graceMs: note(
    'Asks the group to end and waits this long before it is killed; absent kills at once.',
    extension(z.nullable(u64)),
  ),
});
export const terminateResult = z.object({
  running: note('False when it had exited, or was never there.', z.boolean()),
});

export const outputParams = z.object({ processId, seq, stream, chunk: note('At most 8192 bytes.', bytes) });

export const exitedParams = z.object({
  processId,
  seq,
  exitCode: note('128 plus the signal for pipes, 1 for a terminal, when a signal ended it.', i32),
  sandboxDenied: nullish(z.boolean()),
  signal: exitSignal,
  reason: exitReason,
});

export const closedParams = z.object({ processId, seq });

/* ---- extensions ---- */

export const resizeParams = z.object({ processId, size: terminalSize });
export const closeStdinParams = z.object({ processId });
export const flowParams = z.object({ processId, paused: z.boolean() });

const processFacts = {
  processId,
  argv: z.array(z.string()),
  cwd: pathUri,
  tty: z.boolean(),
  pid: u64,
  state: z.enum(['running', 'exited', 'closed']),
  startedAtMs: u64,
  nextSeq: u64,
  exit: note(
    'Null until the exit.',
    z.nullable(struct('ProcessExit', { exitCode: i32, signal: exitSignal, reason: exitReason })),
  ),
};
export const listResult = z.object({ processes: z.array(struct('ProcessListEntry', processFacts)) });

export const adminListResult = z.object({
  processes: z.array(
    struct('AdminProcessListEntry', {
      ref: note('Names the process in `admin/terminate`; says nothing of its session.', z.string()),
      attached: note('Whether a client is connected to its session.', z.boolean()),
      ...processFacts,
    }),
  ),
});
export const adminTerminateParams = z.object({ ref: z.string(), graceMs: nullish(u64) });
