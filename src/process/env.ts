/**
 * Builds the complete environment of a child from the request and the server's own variables. Pure: the server's
 * environment arrives as an argument. The last word is here: what must never reach a child is removed at the end,
 * wherever it came from.
 */
import { WildcardSet } from './wildcard.ts';

export type EnvironmentPolicy = {
  inherit: 'all' | 'core' | 'none';
  ignoreDefaultExcludes: boolean;
  exclude: readonly string[];
  set: Readonly<Record<string, string>>;
  includeOnly: readonly string[];
};

export type EnvironmentRequest = {
  /** Without a policy nothing is inherited: the child gets `overlay` alone. */
  policy: EnvironmentPolicy | null | undefined;
  /** The `env` of the request; laid over everything, never filtered by the policy. */
  overlay: Readonly<Record<string, string>>;
  /** The server's own environment. */
  server: Readonly<Record<string, string | undefined>>;
  /** Names of further variables that hold secrets of the server. */
  secretNames?: readonly string[];
  platform?: NodeJS.Platform;
};

const CORE = 'PATH SHELL TMPDIR TEMP TMP HOME LANG LC_ALL LC_CTYPE LOGNAME USER'.split(' ');
const WINDOWS_CORE = (
  'PATH PATHEXT SHELL COMSPEC SYSTEMROOT WINDIR SYSTEMDRIVE USERNAME USERDOMAIN USERPROFILE HOMEDRIVE HOMEPATH ' +
  'PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 PROGRAMDATA LOCALAPPDATA APPDATA TEMP TMP TMPDIR POWERSHELL PWSH'
).split(' ');
const WINDOWS_PATHEXT = '.COM;.EXE;.BAT;.CMD';

const DEFAULT_EXCLUDES = ['*KEY*', '*SECRET*', '*TOKEN*'];

/** Credentials of the programs that talk to a server like this one, and our own token. */
const NEVER_PASSED = [
  'CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN',
  'NODE_REPL_AUTH_TOKEN',
  'OPENAI_FEDERATION_RULE_ID',
  'OPENAI_IDENTITY_TOKEN_FILE',
  'OPENAI_WORKLOAD_IDENTITY_CONTEXT',
  'FARHAND_TOKEN',
];
const NEVER_PASSED_EXACTLY = 'CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE';

/** The variables of the child, sorted by name as the reference hands them over. */
export function buildEnvironment(request: EnvironmentRequest): Record<string, string> {
  const { policy, overlay, server, secretNames = [], platform = process.platform } = request;
  const variables = policy ? inherited(policy, server, platform) : new Map<string, string>();
  for (const [name, value] of Object.entries(overlay)) variables.set(name, value);

  const never = new Set([...NEVER_PASSED, ...secretNames].map((name) => name.toLowerCase()));
  for (const name of variables.keys()) {
    if (name === NEVER_PASSED_EXACTLY || never.has(name.toLowerCase())) variables.delete(name);
  }
  return sortedRecord(variables);
}

/** A plain object with the entries in the order of their names; even `__proto__` is an ordinary name in it. */
export function sortedRecord(entries: Iterable<readonly [string, string]>): Record<string, string> {
  return Object.fromEntries([...entries].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function inherited(
  policy: EnvironmentPolicy,
  server: EnvironmentRequest['server'],
  platform: NodeJS.Platform,
): Map<string, string> {
  const variables = new Map<string, string>();
  const core = new Set((platform === 'win32' ? WINDOWS_CORE : CORE).map((name) => name.toLowerCase()));
  for (const [name, value] of Object.entries(server)) {
    if (value === undefined || policy.inherit === 'none') continue;
    if (policy.inherit === 'all' || core.has(name.toLowerCase())) variables.set(name, value);
  }

  const excludes = new WildcardSet([...(policy.ignoreDefaultExcludes ? [] : DEFAULT_EXCLUDES), ...policy.exclude]);
  for (const name of variables.keys()) if (excludes.matches(name)) variables.delete(name);

  for (const [name, value] of Object.entries(policy.set)) variables.set(name, value);

  if (policy.includeOnly.length > 0) {
    const includes = new WildcardSet(policy.includeOnly);
    for (const name of variables.keys()) if (!includes.matches(name)) variables.delete(name);
  }
  if (platform === 'win32' && ![...variables.keys()].some((name) => name.toLowerCase() === 'pathext')) {
    variables.set('PATHEXT', WINDOWS_PATHEXT);
  }
  return variables;
}
