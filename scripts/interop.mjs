// Runs the real Codex client against our server (test/interop). Codex is a large download that only this suite needs,
// so it is no dependency: CODEX_BIN names a copy, or else one is fetched into .interop/ and kept there. Arguments go to
// the test runner.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { innerNpmEnvironment, npmCommand } from './inner-npm.mjs';

const CODEX_VERSION = '0.166.0';
// Room for a slow line; a registry that does not answer must not hold up a build for ever.
const INSTALL_LIMIT_MS = 600_000;

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
process.chdir(root);
const store = join(root, '.interop');

function fail(reason) {
  console.error(`interop: failed: ${reason}`);
  process.exit(1);
}

// Without Codex nothing was tested: an automatic build must not take that for success.
function giveUp(reason) {
  if (/^(1|true)$/i.test(process.env.CI ?? '')) fail(reason);
  console.error(`interop: skipped: ${reason}`);
  process.exit(0);
}

function versionOf(binary) {
  const { status, stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8', timeout: 30_000 });
  return status === 0 ? stdout.trim().split(' ').at(-1) : undefined;
}

// The native program, not its launcher script: a signal must reach the program itself.
function findInstalled() {
  const vendor = join(store, 'node_modules', '@openai', `codex-${process.platform}-${process.arch}`, 'vendor');
  if (!existsSync(vendor)) return undefined;
  const name = process.platform === 'win32' ? 'codex.exe' : 'codex';
  const binaries = readdirSync(vendor).map((triple) => join(vendor, triple, 'bin', name));
  return binaries.find((path) => existsSync(path) && versionOf(path) === CODEX_VERSION);
}

function install() {
  console.error(`interop: installing Codex ${CODEX_VERSION} into .interop/`);
  mkdirSync(store, { recursive: true });
  writeFileSync(join(store, 'package.json'), '{ "private": true }\n');
  const [npm, ...npmArgs] = npmCommand;
  const quiet = ['--no-audit', '--no-fund', '--no-save', '--no-package-lock', '--loglevel=error'];
  const what = ['install', '--include=optional', '--ignore-scripts', `@openai/codex@${CODEX_VERSION}`];
  const { error, status, signal, stderr } = spawnSync(npm, [...npmArgs, ...what, ...quiet], {
    cwd: store,
    env: innerNpmEnvironment(),
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: INSTALL_LIMIT_MS,
  });
  const binary = findInstalled();
  if (binary) return binary;
  const complaint =
    stderr?.split('\n').find((line) => /^npm error (?!code|syscall|errno|type|address|port)\S/.test(line)) ??
    'no program for this platform';
  const reason = error?.message ?? (status === 0 ? complaint : `npm ended with ${status ?? signal}: ${complaint}`);
  giveUp(`Codex ${CODEX_VERSION} cannot be installed (${reason})`);
}

function findCodex() {
  const chosen = process.env.CODEX_BIN;
  if (!chosen) return findInstalled() ?? install();
  const version = versionOf(chosen);
  if (!version) fail(`CODEX_BIN=${chosen} does not run`);
  if (version !== CODEX_VERSION)
    console.error(`interop: CODEX_BIN is ${version}; the suite is meant for ${CODEX_VERSION}`);
  return chosen;
}

// Another server in the place of ours needs no build of ours.
if (!process.env.FARHAND_INTEROP_SERVER) {
  const { status } = spawnSync(process.execPath, ['scripts/setup.mjs'], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
const CODEX_BIN = findCodex();

// Both are removed at the end whatever became of the tests. Codex does not set up its home completely below the
// temporary directory, so that one is here.
mkdirSync(store, { recursive: true });
const homes = mkdtempSync(join(store, 'run-'));
const scratch = mkdtempSync(join(tmpdir(), 'farhand-interop-'));
const tests = spawn(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/interop/vitest.config.ts', ...process.argv.slice(2)],
  {
    stdio: 'inherit',
    env: { ...process.env, CODEX_BIN, FARHAND_INTEROP_HOMES: homes, TMPDIR: scratch },
    detached: true,
  },
);
// A group of their own: ending it takes the workers, servers and clients along, which the runner itself would leave.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.kill(-tests.pid, 'SIGTERM'));
tests.once('exit', (code) => {
  rmSync(homes, { recursive: true, force: true });
  rmSync(scratch, { recursive: true, force: true });
  process.exitCode = code ?? 1;
});
