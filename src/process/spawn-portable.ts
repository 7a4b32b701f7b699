/**
 * The spawner for every host without the native addon: `child_process` for pipes, an optional package for terminals.
 * Only puts the two together; what it cannot do is listed here in words a person can use.
 */
import { resolveProgram } from './program-lookup.ts';
import { loadPtyBinding, type PtyBinding } from './pty-binding.ts';
import { spawnPipes } from './spawn-pipes.ts';
import { openMasters, spawnPty } from './spawn-pty.ts';
import type { SpawnedChild, Spawner, SpawnRequest } from './spawner.ts';

/** What this spawner does worse than the native one. */
export const PORTABLE_LIMITS: readonly string[] = [
  'Standard input and output of a process are sockets, not pipes: /dev/stdin, /dev/stdout and /dev/stderr cannot be opened by name, and bash with a writable stdin takes itself for a remote login and reads ~/.bashrc.',
  'Descriptors that the server itself inherited from whoever started it reach its children.',
  'If the server is killed, processes on pipes live on; those on a terminal get a hang-up.',
  'Starting a process takes longer the more memory the server uses.',
  'Death by a real-time signal on pipes is reported as exit code 0.',
  'Terminals need the optional package @lydell/node-pty.',
  'A program that is found but cannot be executed on a terminal (a script without its interpreter, another architecture) prints the reason and exits with 1 instead of failing to start.',
  'arg0 on a terminal needs /usr/bin/perl; without it such a start is refused.',
  'A process on a terminal inherits the descriptors of terminals that were opened before it; a process on pipes finds /dev/null in their place.',
];

export type PortableOptions = {
  /** How the terminal package is loaded, once, when the first terminal is asked for. */
  loadPty?: () => PtyBinding;
};

export class PortableSpawner implements Spawner {
  readonly name = 'portable';
  readonly #loadPty: () => PtyBinding;
  #binding: PtyBinding | undefined;

  constructor({ loadPty = loadPtyBinding }: PortableOptions = {}) {
    this.#loadPty = loadPty;
  }

  async spawn(request: SpawnRequest): Promise<SpawnedChild> {
    const program = resolveProgram(request);
    const { terminal } = request;
    if (!terminal) return spawnPipes(request, program, openMasters);
    this.#binding ??= this.#loadPty();
    return spawnPty({ ...request, terminal }, program, this.#binding);
  }
}

export function createPortableSpawner(options?: PortableOptions): Spawner {
  return new PortableSpawner(options);
}
