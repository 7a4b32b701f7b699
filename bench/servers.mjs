/**
 * The servers under test: where they are, how they start, what they cost, and that they end. Linux only, for the cost
 * is read from /proc. The commands a server runs are not counted as its cost.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sleep, within } from './statistics.mjs';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');

const START_LIMIT_MS = 20_000;
// Our server gives its trees 5 s to end, and a profile takes time to be written.
const STOP_LIMIT_MS = 15_000;
// Memory is at rest when it did not change by more than this between readings.
const REST_MB = 0.1;

const msPerTick = 1000 / Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout || 100);
const running = new Set();

/** How our server is started; `flags` go to it. */
export function ourRecipe({ runFolder, flags = [] }) {
  const cli = join(root, 'dist', 'cli.cjs');
  if (!existsSync(cli)) throw new Error('dist/cli.cjs is missing: run `npm run build`');
  return {
    name: 'ours',
    version: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version,
    program: process.execPath,
    args: [cli, 'exec-server', '--listen', 'ws://127.0.0.1:0', ...flags],
    environment: environment(),
    log: join(runFolder, 'ours.log'),
  };
}

/** The same recipe with a CPU profile, written when the server ends; a later server of that name replaces it. */
export function withProfile(recipe, folder, name) {
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`];
  return { ...recipe, args: [...flags, ...recipe.args] };
}

/** How the reference is started, or undefined when it is not installed. `CODEX_BIN` goes before .interop/. */
export function referenceRecipe({ runFolder }) {
  const program = process.env.CODEX_BIN || findInstalled();
  if (!program) return undefined;
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: START_LIMIT_MS });
  if (status !== 0) throw new Error(`the reference does not run: ${program}`);
  const home = join(runFolder, 'codex-home');
  mkdirSync(home);
  return {
    name: 'reference',
    version: stdout.trim(),
    program,
    args: ['exec-server', '--listen', 'ws://127.0.0.1:0'],
    environment: { ...environment(), CODEX_HOME: home },
    log: join(runFolder, 'reference.log'),
  };
}

function findInstalled() {
  const vendor = join(root, '.interop/node_modules/@openai', `codex-${process.platform}-${process.arch}`, 'vendor');
  if (!existsSync(vendor)) return undefined;
  return readdirSync(vendor)
    .map((triple) => join(vendor, triple, 'bin', 'codex'))
    .find((path) => existsSync(path));
}

// An extra CA file makes every start of Node three times as long; it says nothing about a server.
function environment() {
  const { NODE_EXTRA_CA_CERTS: _, ...rest } = process.env;
  return rest;
}

/** A running server. `coldStartMs` is from the spawn to the first accepted TCP connection. */
class Server {
  #child;
  #exited;

  constructor(recipe, child, exited) {
    this.name = recipe.name;
    this.url = '';
    this.coldStartMs = 0;
    this.#child = child;
    this.#exited = exited;
  }

  /** User and system time so far; the clock of /proc ticks every 10 ms. */
  cpuMs() {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'latin1');
    // The name in parentheses may hold spaces; utime and stime are the 12th and 13th field behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * msPerTick;
  }

  /** Resident memory. */
  rssMb() {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.#child.pid}/status`, 'latin1'))?.[1]) / 1024;
  }

  /** Resident memory once it has stopped moving, or after 2 s. */
  async restingRssMb() {
    let [last, calm] = [this.rssMb(), 0];
    for (let reading = 0; reading < 40 && calm < 5; reading += 1) {
      await sleep(50);
      const next = this.rssMb();
      calm = Math.abs(next - last) <= REST_MB ? calm + 1 : 0;
      last = next;
    }
    return last;
  }

  async stop() {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGTERM');
    try {
      await within(STOP_LIMIT_MS, `${this.name} does not end`, this.#exited);
    } catch (failure) {
      console.error(String(failure));
      this.#child.kill('SIGKILL');
      await this.#exited;
    }
  }

  /** For when there is no time left to ask. */
  kill() {
    this.#child.kill('SIGKILL');
  }
}

/** Starts a server and waits until it accepts a connection. */
export async function startServer(recipe) {
  const log = openSync(recipe.log, 'a');
  const begin = performance.now();
  const child = spawn(recipe.program, recipe.args, {
    env: recipe.environment,
    stdio: ['ignore', 'pipe', log],
    cwd: '/',
  });
  closeSync(log);
  const exited = new Promise((resolve) => child.once('close', resolve));
  const server = new Server(recipe, child, exited);
  running.add(server);
  void exited.then(() => running.delete(server)); // `exited` cannot reject.
  try {
    await within(START_LIMIT_MS, `${recipe.name} does not start`, Promise.race([listen(), failed()]));
  } catch (failure) {
    server.kill();
    throw failure;
  }
  return server;

  async function listen() {
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    const { port } = new URL(line);
    const probe = connect(Number(port), '127.0.0.1');
    await once(probe, 'connect');
    server.coldStartMs = performance.now() - begin;
    server.url = line.trim();
    probe.destroy();
  }

  async function failed() {
    child.once('error', () => {}); // Told by `close` as well.
    await exited;
    const said = readFileSync(recipe.log, 'utf8').trim().split('\n').at(-1);
    throw new Error(`${recipe.name} ended with ${child.exitCode ?? child.signalCode}: ${said}`);
  }
}

/** For when the benchmark itself is told to stop. */
export function killAll() {
  for (const server of running) server.kill();
}
