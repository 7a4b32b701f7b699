/**
 * What a terminal adds to the environment of its child: SHELL, when the request has none, is the user's login shell.
 * Nothing else, TERM included. Shared by every spawner.
 */
import { userInfo } from 'node:os';
import { sortedRecord } from './env.ts';

/** The environment of a child on a terminal. */
export function terminalEnvironment(
  env: Readonly<Record<string, string>>,
  loginShell: () => string = passwdShell,
): Readonly<Record<string, string>> {
  if (Object.hasOwn(env, 'SHELL')) return env;
  return sortedRecord([...Object.entries(env), ['SHELL', loginShell()]]);
}

/** The login shell of the user the server runs as; `/bin/sh` for a user without an entry, as in many containers. */
export function passwdShell(): string {
  try {
    return userInfo().shell || '/bin/sh';
  } catch {
    return '/bin/sh';
  }
}
