/**
 * What a scenario needs besides its recording: how the server was started, what had happened before the first line,
 * what the recording waited for, and which output differs from run to run. None for most.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { EventLog } from './event-log.ts';
import {
  collapseFlood,
  forgetInherited,
  forgetPackagePath,
  forgetProcessNumbers,
  forgetUser,
  nameNumbers,
  sortLines,
} from './normalise.ts';
import type { Peer } from './peer.ts';
import { DEFAULT_PATH, type GoldenServer, type GoldenServerOptions } from './server.ts';

export type Situation = {
  server: GoldenServer;
  /** The named connection, opened if it is not open yet. */
  peer(name: string): Promise<Peer>;
  /** What this run has seen of a process. */
  log(processId: string): EventLog | undefined;
  /** Says which session of this run a recorded id stands for. */
  mapSession(recorded: string, actual: string): void;
  until(what: string, look: () => boolean): Promise<void>;
};

export type Plan = {
  /** Programs its processes run that not every machine has. */
  needs?: readonly string[];
  server?: GoldenServerOptions;
  /** The client ended the connections; elsewhere a recorded close is the server's doing. */
  clientDrops?: boolean;
  /** Brings about the state in which the recording begins. */
  before?: (situation: Situation) => Promise<void>;
  /** What the recording waited for, by the line that came after. */
  waits?: Readonly<Record<number, (situation: Situation) => Promise<void>>>;
  /** For requests that run at once: groups of ids, all of one group answered before any of the next. */
  answerGroups?: readonly (readonly string[])[];
  /** Requests whose answers the recording does not have. */
  unrecorded?: readonly string[];
  normalise?: (text: string, processId: string, server: GoldenServer) => string;
};

const SERVER_ENVIRONMENT = {
  A_SECRET: 's',
  EDITOR: 'vi',
  FOO_KEY: 'k',
  MY_TOKEN: 't',
  PLAIN: 'p',
  SHELL: '/bin/bash',
  TERM: 'xterm-x',
  TMPDIR: '/tmp',
  USER: 'example',
};

const PLANS: Readonly<Record<string, Plan>> = {
  'concurrency-two': {
    server: { concurrentRequests: 2 },
    answerGroups: [
      ['4', '5', '6', '8'],
      ['1', '3'],
    ],
    unrecorded: ['2'],
  },
  'process-closed-retention': {
    server: { closedRetentionMs: 1_000 },
    before: async (situation) => {
      const peer = await situation.peer('A');
      await startProcess(peer, 'ret', ['echo', 'a']);
      await situation.until('ret to close', () => situation.log('ret')?.closedSeq !== undefined);
    },
    waits: {
      6: async ({ peer, until }) => {
        const client = await peer('A');
        let answer = '';
        const ask = async (): Promise<void> => {
          answer = await client.ask('golden-poll', 'process/read', { processId: 'ret' });
        };
        let asking: Promise<void> | undefined;
        await until('ret to be forgotten', () => {
          asking ??= ask().finally(() => {
            asking = undefined;
          });
          return answer.includes('"error"');
        });
        await asking;
      },
    },
  },
  'process-env-policy': {
    server: { environment: SERVER_ENVIRONMENT },
    normalise: (text, _, { home }) => sortLines(forgetPackagePath(text).replaceAll(home, '/tmp/example/home')),
  },
  'process-pty': {
    needs: ['ps'],
    normalise: (text, processId) => {
      const steady = forgetUser(forgetProcessNumbers(text));
      return processId === 'pty1' ? sortLines(steady) : steady;
    },
  },
  'process-start-more': {
    needs: ['ps', 'awk'],
    normalise: (text, processId, { spawner }) => {
      const steady = forgetUser(forgetProcessNumbers(text));
      if (processId.startsWith('env')) return sortLines(steady);
      return spawner === 'portable' ? forgetInherited(steady) : steady;
    },
  },
  'process-terminate': { normalise: (text) => nameNumbers(text) },
  'session-detached-output': {
    clientDrops: true,
    waits: { 8: ({ server, until }) => until('p2 to end', () => server.children().length === 0) },
  },
  'session-resume': { clientDrops: true },
  'session-resume-flood': {
    before: async ({ peer, log, mapSession, until }) => {
      const first = await peer('first');
      mapSession('3262bfa7-ca65-4c54-b0a0-c1b8b9f1353a', first.sessionId ?? '');
      await startProcess(first, 'flood', ['bash', '-c', 'while :; do echo y; done']);
      await until('flood to begin', () => log('flood')?.get(1) !== undefined);
      await first.drop();
    },
    normalise: collapseFlood,
  },
  'session-ttl-expired': {
    clientDrops: true,
    server: { sessionGraceMs: 300 },
    waits: {
      9: ({ log, until }) => {
        const pids = log('p3')?.output().get('stdout')?.trim().split(' ') ?? [];
        return until(`${pids.join(' and ')} to be killed`, () => pids.length === 2 && pids.every(isGone));
      },
    },
    normalise: (text) => nameNumbers(text),
  },
  'stdio-session': { server: { transport: 'stdio' } },
};

export function planFor(scenario: string): Plan {
  return PLANS[scenario] ?? {};
}

/** The first program of the plan that this machine does not have. */
export function missingProgram({ needs = [] }: Plan): string | undefined {
  return needs.find((program) => !DEFAULT_PATH.split(':').some((folder) => existsSync(`${folder}/${program}`)));
}

async function startProcess(peer: Peer, processId: string, argv: string[]): Promise<void> {
  const params = { processId, argv, cwd: 'file:///tmp', env: { PATH: DEFAULT_PATH }, tty: false, arg0: null };
  await peer.call('golden-start', 'process/start', params);
}

/** Dead, whether or not somebody has reaped it. */
function isGone(pid: string): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}
