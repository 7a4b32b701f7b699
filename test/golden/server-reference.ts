/** Starts the program the recordings were made with. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { childrenOf, type GoldenAuth, type GoldenServer, type StartOptions } from './server.ts';
import { dialWebSocket, wireOverStreams } from './wire.ts';

export async function startReference(program: string, options: StartOptions): Promise<GoldenServer> {
  const isStdio = options.transport === 'stdio';
  const args = ['exec-server', '--listen', isStdio ? 'stdio' : 'ws://127.0.0.1:0'];
  if (options.concurrentRequests) args.push('--concurrent-requests', String(options.concurrentRequests));
  if (options.auth) args.push(...authFlags(options.auth, options.home));
  const child = spawn(program, args, {
    cwd: options.home,
    env: options.environment,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const exited = once(child, 'close').then(([code]) => Number(code ?? -1));
  const { stdin, stdout, pid = 0 } = child;
  const url = isStdio ? undefined : await readUrl(child);
  return {
    kind: 'reference',
    spawner: undefined,
    url,
    home: options.home,
    connect: async (events) =>
      url === undefined ? wireOverStreams(stdin, stdout, events) : dialWebSocket(url, events),
    exitStatus: () => exited,
    children: () => childrenOf(pid),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

function authFlags(auth: GoldenAuth, home: string): string[] {
  const file = join(home, 'secret');
  if (auth.type === 'capability-token') {
    writeFileSync(file, `${auth.token}\n`);
    return ['--ws-auth', auth.type, '--ws-token-file', file];
  }
  writeFileSync(file, auth.secret);
  const claims = ['--ws-issuer', auth.issuer, '--ws-audience', auth.audience];
  return ['--ws-auth', auth.type, '--ws-shared-secret-file', file, ...claims];
}

async function readUrl({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('the program has no stdout');
  const [line] = await once(stdout, 'data');
  return String(line).trim();
}
