/**
 * Loads the compiled part of the optional terminal package. Its JavaScript part is not used: that one forces TERM and
 * PWD into the environment, throws away output that is still unread 200 ms after the exit, and busy-waits on input the
 * child does not take. Owns the shape of that foreign module and the text when it is missing.
 */
import { createRequire } from 'node:module';
import { ExecError } from '../protocol/errors.ts';

const PACKAGE = '@lydell/node-pty';

/** Arguments in the order the module takes them. */
export type ForkArguments = [
  file: string,
  args: string[],
  env: string[],
  cwd: string,
  cols: number,
  rows: number,
  uid: number,
  gid: number,
  isUtf8: boolean,
  helperPath: string,
  onExit: (code: number, signal: number) => void,
];

/** `fd` is the master side of the terminal, not blocking; `pty` is the path of the side the child has. */
export type ForkedChild = { pid: number; fd: number; pty: string };

export type PtyBinding = {
  /** A child that leads a session on a new terminal. */
  fork(...args: ForkArguments): ForkedChild;
  resize(fd: number, cols: number, rows: number): void;
  /** A program macOS needs for the start. */
  helperPath: string;
};

/** Throws ExecError when the package is not there. */
export function loadPtyBinding(): PtyBinding {
  const platform = `${PACKAGE}-${process.platform}-${process.arch}`;
  try {
    // From the package and not from here: only it is sure to see the package with the binary.
    const fromPackage = createRequire(createRequire(import.meta.url).resolve(PACKAGE));
    const helperPath = process.platform === 'darwin' ? fromPackage.resolve(`${platform}/spawn-helper`) : '';
    return parseBinding(fromPackage(`${platform}/pty.node`), helperPath);
  } catch (cause) {
    const text = `a terminal needs the optional package ${PACKAGE}, which cannot be loaded here`;
    throw new ExecError('internal', text, { cause });
  }
}

function parseBinding(module: unknown, helperPath: string): PtyBinding {
  const { fork, resize } = module as Pick<PtyBinding, 'fork' | 'resize'>;
  if (typeof fork !== 'function' || typeof resize !== 'function') throw new TypeError('unexpected module');
  return { fork, resize, helperPath };
}
