// Brings a fresh clone to a usable state: dependencies, then the build. Node's own modules only; doing it again costs
// nothing. `npm start` and `npm test` both come through here.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { innerNpmEnvironment, npmCommand } from './inner-npm.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
process.chdir(root);

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) fail(`Node 20.19 or newer is needed, this is ${process.version}`);

function fail(reason) {
  console.error(`setup: ${reason}`);
  process.exit(1);
}

function run(what, command, args, environment = process.env) {
  if (what) console.error(`setup: ${what}`);
  // Everything goes to stderr: the only line on stdout of `npm start` is the server's URL.
  const { error, status, signal } = spawnSync(command, args, { stdio: ['ignore', 2, 2], env: environment });
  if (error) fail(`${command}: ${error.message}`);
  if (status !== 0) fail(`${what ?? args.join(' ')} failed: ${command} ended with ${status ?? signal}`);
}

// Contents, not times: git sets times at checkout.
function digest(files) {
  const hash = createHash('sha256').update(process.version).update(process.arch);
  for (const file of files) hash.update(file).update('\0').update(readFileSync(file));
  return hash.digest('hex');
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .sort();
}

function once(stamp, inputs, outputs, make) {
  const wanted = digest(inputs);
  const isThere = outputs.every((path) => existsSync(path));
  if (isThere && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  rmSync(stamp, { force: true });
  make();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
}

const [npm, ...npmArgs] = npmCommand;
const locked = ['package.json', 'package-lock.json', '.npmrc'];
once('node_modules/.setup', locked, ['node_modules/.bin/tsc', 'node_modules/.bin/esbuild'], () =>
  run('installing dependencies', npm, [...npmArgs, 'ci', '--include=dev', '--include=optional'], innerNpmEnvironment()),
);
run(undefined, process.execPath, ['scripts/native.mjs']);
const sources = [...filesBelow('src'), 'scripts/build.mjs', 'tsconfig.json', ...locked];
once('dist/.setup', sources, ['dist/cli.cjs', 'dist/engine.cjs'], () =>
  run('building', process.execPath, ['scripts/build.mjs']),
);
