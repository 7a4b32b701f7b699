/**
 * Where our server differs from the recorded one on purpose; nothing else may differ. Each entry rewrites the recorded
 * lines it is about, and the result is then compared as strictly as any recording, so an entry that is out of date
 * fails its scenario.
 */
import { isObject, type JsonObject, member, parseObject } from './json.ts';
import type { Plan } from './plan.ts';
import type { GoldenServer } from './server.ts';
import type { Transcript } from './transcript.ts';

export type Difference = {
  scenario: string;
  reason: string;
  /** Recorded messages that are not sent like this to or by ours. */
  about(message: JsonObject): boolean;
  /** What is sent instead. */
  ours(message: JsonObject, server: GoldenServer): JsonObject[];
  /** The order of answers, where that differs too; see plan.ts. */
  answerGroups?: Plan['answerGroups'];
  /** Only for this way of starting processes: one of its documented limits. */
  spawner?: 'portable';
};

const withId =
  (...ids: number[]) =>
  ({ id, method }: JsonObject): boolean =>
    method === undefined && typeof id === 'number' && ids.includes(id);

const eventOf =
  (...processIds: string[]) =>
  (message: JsonObject): boolean =>
    message.id === undefined && processIds.includes(String(member(message, 'params').processId));

const nothing = (): JsonObject[] => [];

const error =
  (code: number, message: string) =>
  (recorded: JsonObject): JsonObject[] => {
    return [{ error: { code, message }, id: recorded.id ?? null }];
  };

const started =
  (processId: string, ...events: JsonObject[]) =>
  ({ id = null }: JsonObject): JsonObject[] => [{ id, result: { processId, sandboxType: 'none' } }, ...events];

const startOf =
  (processId: string) =>
  (message: JsonObject): boolean =>
    message.method === 'process/start' && member(message, 'params').processId === processId;

const mentions =
  (chunk: string) =>
  (message: JsonObject): boolean =>
    JSON.stringify(message).includes(chunk);

/**
 * A login shell reads the user's start-up files, and so does any bash whose input is a socket, because it takes that
 * for a remote login. In an empty HOME there are none.
 */
const withoutStartupFiles = (message: JsonObject, { home }: GoldenServer): JsonObject[] => {
  const params = member(message, 'params');
  return [{ ...message, params: { ...params, env: { ...member(params, 'env'), HOME: home } } }];
};

const MISSING_FILE = 'No such file or directory (os error 2)';
const MISSING_FOLDER = 'a terminal in a folder that does not exist is an error, not a terminal in HOME';
const FREE_ID = 'the terminal did not start, so its process id is free';
const WAITING = 'a read that waits does not hold up the requests behind it';

// How many more are accepted before the pipe is full is the kernel's affair; the last one never is.
const ACCEPTED_WRITES = Array.from({ length: 130 }, (_, index) => [String(7000 + index)]);

const base64 = (text: string): string => Buffer.from(text).toString('base64');
// As recorded, descriptors 0 to 3 of a process on pipes, listed by a program whose own output is a pipe.
const PIPE_LIST = base64(' \n0 /dev/null\n1 pipe:[183667]\n2 pipe:[184531]\n3 /proc/1770/fd\n');
const SOCKET_LIST = base64(' \n0 /dev/null\n1 pipe:[183667]\n2 socket:[184531]\n3 /proc/1770/fd\n');

/** Same code, but it does not speak of stubs. */
const unknownMethod = (scenario: string): Difference => ({
  scenario,
  reason: 'the text for unknown methods says what is the matter',
  about: (message) => member(message, 'error').code === -32601,
  ours: ({ error: recorded, id = null }) => {
    const text = isObject(recorded) ? String(recorded.message) : '';
    return [{ error: { code: -32601, message: `unknown method ${/`.*`/.exec(text)?.[0]}` }, id }];
  },
});

type Death = { signal: string; reason: 'signalled' | 'terminated' };
const signalled = (signal: string): Death => ({ signal, reason: 'signalled' });
const TERMINATED: Death = { signal: 'SIGKILL', reason: 'terminated' };

/** Processes that a signal ended, and the answers to reads about them. */
const deaths = (
  scenario: string,
  byProcess: Record<string, Death>,
  byAnswer: Record<number, Death> = {},
): Difference[] => [
  {
    scenario,
    reason: 'an exit says which signal ended the process, and why (extension)',
    about: (message) => message.method === 'process/exited' && String(member(message, 'params').processId) in byProcess,
    ours: (message) => {
      const params = member(message, 'params');
      return [{ ...message, params: { ...params, ...byProcess[String(params.processId)] } }];
    },
  },
  ...Object.entries(byAnswer).map(([id, death]) => ({
    scenario,
    reason: `read ${id} says which signal ended the process, and why (extension)`,
    about: withId(Number(id)),
    ours: (message: JsonObject): JsonObject[] => [{ ...message, result: { ...member(message, 'result'), ...death } }],
  })),
];

export const DIFFERENCES: readonly Difference[] = [
  ...deaths('concurrency-inline', { a: TERMINATED }),
  ...deaths('process-pty', { pty7: signalled('SIGINT') }, { 118: signalled('SIGINT') }),
  ...deaths(
    'process-signals-exit-codes',
    {
      sigTERM: signalled('SIGTERM'),
      sigKILL: signalled('SIGKILL'),
      sigINT: signalled('SIGINT'),
      sigSEGV: signalled('SIGSEGV'),
      sigHUP: signalled('SIGHUP'),
      tsigTERM: signalled('SIGTERM'),
      tsigKILL: signalled('SIGKILL'),
      tsigINT: signalled('SIGINT'),
      int2: signalled('SIGINT'),
    },
    {
      165: signalled('SIGTERM'),
      167: signalled('SIGKILL'),
      169: signalled('SIGINT'),
      171: signalled('SIGSEGV'),
      173: signalled('SIGHUP'),
      175: signalled('SIGTERM'),
      177: signalled('SIGKILL'),
      179: signalled('SIGINT'),
      193: signalled('SIGINT'),
    },
  ),
  {
    scenario: 'process-signals-exit-codes',
    reason: 'there are more signals than the interrupt (extension)',
    about: withId(189),
    ours: ({ id = null }) => [{ id, result: {} }],
  },
  ...deaths('process-stdin', { in1: TERMINATED }),
  ...deaths('process-terminate', { term1: TERMINATED, term2: TERMINATED }),
  unknownMethod('binary-frames'),
  unknownMethod('concurrency-two'),
  unknownMethod('not-initialized'),
  {
    scenario: 'concurrency-inline',
    reason: `${WAITING}: the process is terminated before it prints`,
    about: (message) => message.method === 'process/output',
    ours: nothing,
  },
  {
    scenario: 'concurrency-inline',
    reason: `${WAITING}: it is the end that it finds`,
    about: withId(1),
    ours: ({ id = null, ...rest }) => {
      const found = { chunks: [], nextSeq: 2, exited: true, exitCode: 137 };
      const death = { signal: 'SIGKILL', reason: 'terminated' };
      return [{ id, result: { ...member(rest, 'result'), ...found, ...death } }];
    },
    answerGroups: [['100'], ['101'], ['2', '3'], ['1']],
  },
  {
    scenario: 'concurrency-inline',
    reason: `${WAITING}: without output its end has lower numbers`,
    about: (message) => message.method === 'process/exited' || message.method === 'process/closed',
    ours: (message) => {
      const params = member(message, 'params');
      return [{ ...message, params: { ...params, seq: Number(params.seq) - 1 } }];
    },
  },
  {
    scenario: 'process-large-output',
    reason: 'a read says what has been dropped (extension)',
    about: withId(181, 182),
    ours: (message) => [{ ...message, result: { ...member(message, 'result'), firstSeq: 0, lostBytes: 0 } }],
  },
  { scenario: 'process-pty', reason: MISSING_FOLDER, about: withId(103, 105), ours: error(-32603, MISSING_FILE) },
  { scenario: 'process-pty', reason: MISSING_FOLDER, about: eventOf('pty2', 'pty2b'), ours: nothing },
  {
    scenario: 'process-pty',
    reason: MISSING_FOLDER,
    about: withId(104),
    ours: error(-32600, 'unknown process id pty2'),
  },
  {
    scenario: 'process-pty',
    reason: MISSING_FOLDER,
    about: withId(106),
    ours: error(-32600, 'unknown process id pty2b'),
  },
  {
    scenario: 'process-pty',
    reason: 'arg0 is the name the program sees, on a terminal as on pipes; it is not the program',
    about: withId(111),
    ours: started(
      'pty5',
      {
        method: 'process/output',
        params: { processId: 'pty5', seq: 1, stream: 'pty', chunk: base64('x\r\n') },
      },
      { method: 'process/exited', params: { processId: 'pty5', seq: 2, exitCode: 0, sandboxDenied: false } },
      { method: 'process/closed', params: { processId: 'pty5', seq: 3 } },
    ),
  },
  { scenario: 'process-start-errors', reason: MISSING_FOLDER, about: withId(127), ours: error(-32603, MISSING_FILE) },
  {
    scenario: 'process-start-errors',
    reason: FREE_ID,
    about: withId(128),
    ours: error(-32603, 'missing program for PTY spawn'),
  },
  {
    scenario: 'process-start-errors',
    reason: FREE_ID,
    about: withId(129),
    ours: error(-32603, 'nul byte found in provided data'),
  },
  {
    scenario: 'process-start-errors',
    reason: FREE_ID,
    about: withId(130),
    ours: error(-32603, 'data provided contains a nul byte'),
  },
  { scenario: 'process-start-errors', reason: FREE_ID, about: withId(131), ours: started('x') },
  {
    scenario: 'process-start-more',
    reason:
      'a shell snapshot is only a speed-up that ours does not have, so the login files run, and may print, each time',
    about: startOf('n26'),
    ours: withoutStartupFiles,
  },
  {
    scenario: 'process-start-more',
    spawner: 'portable',
    reason: 'the output of a process goes to sockets',
    about: mentions(PIPE_LIST),
    ours: (message) => [JSON.parse(JSON.stringify(message).replace(PIPE_LIST, SOCKET_LIST))],
  },
  {
    scenario: 'process-stdin',
    spawner: 'portable',
    reason: 'the input of a process is a socket',
    about: startOf('in3'),
    ours: withoutStartupFiles,
  },
  {
    scenario: 'session-resume',
    spawner: 'portable',
    reason: 'the input of a process is a socket',
    about: startOf('p1'),
    ours: withoutStartupFiles,
  },
  {
    scenario: 'process-stdin-backpressure',
    reason: 'a write behind a full pipe waits outside its lane, and status has a lane of its own',
    about: withId(8000),
    ours: (message) => [message],
    answerGroups: [...ACCEPTED_WRITES, ['8000'], ['7134']],
  },
];

export type Expected = { transcript: Transcript; plan: Plan };

/** The recording and the plan as they would be of our server. Throws when an entry changes nothing. */
export function asOurs(transcript: Transcript, plan: Plan, server: GoldenServer): Expected {
  const entries = DIFFERENCES.filter(
    ({ scenario, spawner = server.spawner }) => scenario === transcript.scenario && spawner === server.spawner,
  );
  const result = { transcript, plan };
  for (const { about, ours, answerGroups, reason } of entries) {
    const steps = result.transcript.steps.flatMap((step) => {
      const message = parseObject(step.text);
      if (!message || !about(message)) return [step];
      return ours(message, server).map((sent) => ({ ...step, text: JSON.stringify(sent) }));
    });
    const isSame = JSON.stringify(steps) === JSON.stringify(result.transcript.steps);
    if (isSame && answerGroups === undefined) throw new Error(`nothing in the recording is affected by: ${reason}`);
    result.transcript = { ...transcript, steps };
    if (answerGroups) result.plan = { ...result.plan, answerGroups };
  }
  return result;
}
