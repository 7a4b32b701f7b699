/**
 * The server under test: ours in this process, or the recorded program itself when GOLDEN_SERVER_CMD names it, which
 * is how the recordings and the replayer are proven right.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Wire, WireEvents } from './wire.ts';

export type GoldenAuth =
  | { type: 'capability-token'; token: string }
  | { type: 'signed-bearer-token'; secret: string; issuer: string; audience: string };

export type GoldenServerOptions = {
  transport?: 'websocket' | 'stdio';
  auth?: GoldenAuth;
  concurrentRequests?: number;
  /** Laid over the few variables every server gets. */
  environment?: Readonly<Record<string, string>>;
  /** Ours only: the reference has its 30 s and a test against it takes that long. */
  sessionGraceMs?: number;
  closedRetentionMs?: number;
};

export interface GoldenServer extends AsyncDisposable {
  readonly kind: 'reference' | 'ours';
  /** Ours only: how it starts processes. */
  readonly spawner: 'native' | 'portable' | undefined;
  /** Absent for stdio. */
  readonly url: string | undefined;
  readonly home: string;
  connect(events: WireEvents): Promise<Wire>;
  /** stdio only, after the wire was dropped: how the server ended. */
  exitStatus(): Promise<number>;
  /** Processes it started and has not reaped. */
  children(): number[];
}

/** What each kind of server is started with. */
export type StartOptions = GoldenServerOptions & {
  /** An empty folder of its own, gone with the server. */
  home: string;
  environment: Readonly<Record<string, string>>;
};

export const referenceProgram = process.env.GOLDEN_SERVER_CMD;

export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export async function startGoldenServer(options: GoldenServerOptions = {}): Promise<GoldenServer> {
  const home = mkdtempSync(join(tmpdir(), 'golden-'));
  const environment = { PATH: DEFAULT_PATH, HOME: home, CODEX_HOME: home, LANG: 'C.UTF-8', ...options.environment };
  const start = { ...options, home, environment };
  const server = referenceProgram
    ? await (await import('./server-reference.ts')).startReference(referenceProgram, start)
    : await (await import('./server-ours.ts')).startOurs(start);
  return {
    ...server,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Direct children of a process, those of every thread of it. */
export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}
