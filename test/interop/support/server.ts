/**
 * The server under test as a command: ours, or with FARHAND_INTEROP_SERVER (words separated by blanks) another one.
 * With Codex's own `exec-server` there, a failure means that the test is wrong and not the server.
 */

import type { Disposables } from '../../../src/util/disposables.ts';
import { Child, type ChildOptions } from './child.ts';
import { within } from './event-log.ts';

/** The command line of the server, to be completed with an address. */
export function serverCommand(listen: string): string[] {
  const chosen = process.env.FARHAND_INTEROP_SERVER?.split(' ').filter(Boolean) ?? [];
  const command = chosen.length > 0 ? chosen : [process.execPath, `${process.cwd()}/dist/cli.cjs`, 'exec-server'];
  return [...command, '--listen', listen];
}

/** Starts the server on a port of its own choice and waits for the line that says which; it ends with the scope. */
export async function startServer(options: ChildOptions, scope: Disposables): Promise<{ child: Child; url: string }> {
  const child = scope.use(new Child('the server', serverCommand('ws://127.0.0.1:0'), options));
  const announced = child.lines.first('the server to say its address', (line) =>
    line.startsWith('ws://') ? line.trim() : undefined,
  );
  const ended = child.exit.then(({ code, signal }) => {
    throw new Error(`the server ended (${code ?? signal}) before it listened: ${child.stderr}`);
  });
  const url = await within('the server to listen', Promise.race([announced, ended]));
  ended.catch(() => {}); // From here on its end is what the test asks for.
  return { child, url };
}
