/**
 * Finds the program of a request before anything is spawned, in the PATH of the child and relative to its folder, as
 * `execvp` would; words the failures as the reference does on pipes and on terminals. Reads the file system, changes
 * nothing. Every spawner asks here first, so a start fails with the same text whoever would have run it.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { ExecError } from '../protocol/errors.ts';
import { errorCode, osErrorText } from '../util/os-error.ts';
import type { SpawnRequest } from './spawner.ts';

/** What libc searches when the environment has no PATH. */
const DEFAULT_PATH = '/bin:/usr/bin';

/** Where a search goes on to the next folder; anything else ends it. */
const SEARCH_ON: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR', 'EACCES'];

export type ProgramRequest = Pick<SpawnRequest, 'argv' | 'arg0' | 'cwd' | 'env' | 'terminal'>;

/**
 * The path to execute after changing to `cwd`: it always has a slash in it and may be relative. Throws
 * ExecError('internal') with the text of the spec when the request cannot be started.
 */
export function resolveProgram(request: ProgramRequest): string {
  const { argv, arg0, cwd, env, terminal } = request;
  const program = argv[0] ?? '';
  if (program === '') throw new ExecError('internal', `missing program for ${terminal ? 'PTY' : 'pipe'} spawn`);
  refuseNul(argv.concat(cwd, arg0 ?? []), 'nul byte found in provided data');
  refuseNul(Object.entries(env).flat(), 'data provided contains a nul byte');
  checkFolder(cwd);
  if (program.includes('/')) return atPath(program, cwd, terminal !== undefined);
  const searchPath: string | undefined = env.PATH;
  return terminal ? onTerminalPath(program, cwd, searchPath) : onPipePath(program, cwd, searchPath ?? DEFAULT_PATH);
}

function refuseNul(values: readonly string[], text: string): void {
  if (values.some((value) => value.includes('\0'))) throw new ExecError('internal', text);
}

function checkFolder(cwd: string): void {
  const failure = whyUnusable(cwd, 'folder');
  if (failure !== undefined) throw osFailure(failure);
}

function atPath(program: string, cwd: string, onTerminal: boolean): string {
  const path = join(cwd, program);
  const failure = whyUnusable(path, 'file');
  if (failure === undefined) return program;
  const code = errorCode(failure);
  if (onTerminal && !program.startsWith('/') && (code === 'ENOENT' || code === 'ENOTDIR')) {
    throw new ExecError('internal', `Unable to spawn ${path} because it does not exist`, { cause: failure });
  }
  throw osFailure(failure);
}

function onPipePath(program: string, cwd: string, searchPath: string): string {
  let denied: unknown;
  for (const candidate of candidates(program, searchPath)) {
    const failure = whyUnusable(join(cwd, candidate), 'file');
    if (failure === undefined) return candidate;
    const code = errorCode(failure);
    if (!SEARCH_ON.includes(code)) throw osFailure(failure);
    if (code === 'EACCES') denied = failure;
  }
  throw osFailure(denied ?? { code: 'ENOENT' });
}

function onTerminalPath(program: string, cwd: string, searchPath: string | undefined): string {
  const because = `Unable to spawn ${program} because:\n`;
  if (searchPath === undefined) throw new ExecError('internal', `${because}Unable to resolve the PATH`);
  for (const candidate of candidates(program, searchPath)) {
    if (whyUnusable(join(cwd, candidate), 'file') === undefined) return candidate;
  }
  throw new ExecError('internal', `${because}No viable candidates found in PATH ${quoted(searchPath)}`);
}

/** An empty entry of a search path is the current folder. */
function candidates(program: string, searchPath: string): string[] {
  return searchPath.split(':').map((folder) => `${folder || '.'}/${program}`);
}

/** Undefined for a file that can be executed or a folder that can be entered; otherwise the error the kernel would give. */
function whyUnusable(path: string, kind: 'file' | 'folder'): unknown {
  try {
    const found = statSync(path);
    if (kind === 'folder' && !found.isDirectory()) return { code: 'ENOTDIR' };
    if (kind === 'file' && !found.isFile()) return { code: 'EACCES' };
    accessSync(path, constants.X_OK);
    return undefined;
  } catch (failure) {
    return failure;
  }
}

function join(cwd: string, path: string): string {
  if (path.startsWith('/')) return path;
  return cwd.endsWith('/') ? cwd + path : `${cwd}/${path}`;
}

/** In double quotes, with quotes, backslashes and control characters escaped as the reference prints them. */
function quoted(text: string): string {
  const short = new Map(Object.entries({ '\n': '\\n', '\r': '\\r', '\t': '\\t', '"': '\\"', '\\': '\\\\' }));
  const escaped = (char: string): string => short.get(char) ?? `\\u{${char.charCodeAt(0).toString(16)}}`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return `"${text.replace(/["\\\x00-\x1f\x7f]/g, escaped)}"`;
}

function osFailure(cause: unknown): ExecError {
  return new ExecError('internal', osErrorText(cause), { cause });
}
