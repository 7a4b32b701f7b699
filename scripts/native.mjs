// Builds the native addon with one call of the C compiler: no python, make or node-gyp. Not being able to is no reason
// for an install to fail (the portable spawner serves then), unless REQUIRE_NATIVE=1 says so.
//   node scripts/native.mjs              native/build/Release/farhand.node, unless it is there and up to date
//   node scripts/native.mjs --sanitize   native/build/Sanitize/farhand.node, with address and undefined-behaviour checks
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = join(root, 'native');
const isRequired = process.env.REQUIRE_NATIVE === '1';
const isSanitized = process.argv.includes('--sanitize');
const output = join(folder, 'build', isSanitized ? 'Sanitize' : 'Release', 'farhand.node');
const stamp = `${output}.stamp`;
const temporary = `${output}.${process.pid}.tmp`;
const compiler = process.env.CC || 'cc';

const flags = [
  '-std=gnu11',
  '-shared',
  '-fPIC',
  '-Wall',
  '-Wextra',
  '-fvisibility=hidden',
  '-D_GNU_SOURCE',
  '-DNAPI_VERSION=8',
  '-Wl,-z,relro,-z,now', // so that loading it finds every symbol it needs
  ...(isSanitized
    ? ['-O1', '-g', '-fno-omit-frame-pointer', '-fsanitize=address,undefined', '-fno-sanitize-recover=undefined']
    : ['-O2', '-DNDEBUG']),
];

function giveUp(reason) {
  for (const path of [temporary, stamp, output]) rmSync(path, { force: true });
  console.warn(`native addon not built (${reason}); the portable spawner is used instead`);
  process.exit(isRequired ? 1 : 0);
}

/** Node's own headers, where a release of Node, a package of it or node-gyp puts them. */
function findHeaders() {
  const home = process.env.HOME ?? '/';
  const roots = [
    process.env.npm_config_nodedir,
    join(process.execPath, '..', '..'),
    join(home, '.cache', 'node-gyp', process.versions.node),
  ];
  return roots
    .filter(Boolean)
    .map((path) => join(path, 'include', 'node'))
    .find((path) => existsSync(join(path, 'node_api.h')) && existsSync(join(path, 'uv.h')));
}

/** Contents, not times: git sets times at checkout. */
function digest(files) {
  const hash = createHash('sha256').update(
    [process.platform, process.arch, process.versions.modules, compiler, ...flags].join('\0'),
  );
  for (const file of files) hash.update(`\0${file}\0`).update(readFileSync(join(folder, file)));
  return hash.digest('hex');
}

/** Whether a fresh Node can load it; the sanitizers cannot be loaded without their library in front. */
function whyUnloadable(path) {
  if (isSanitized) return undefined;
  const load = 'const m = { exports: {} }; process.dlopen(m, process.argv[1]); m.exports.missingFeature();';
  const { status, signal, stderr } = spawnSync(process.execPath, ['-e', load, path], { encoding: 'utf8' });
  if (status === 0) return undefined;
  return stderr.split('\n').find((line) => line.includes('Error')) ?? `node ended with ${status ?? signal}`;
}

const files = readdirSync(folder)
  .filter((name) => /\.[ch]$/.test(name))
  .sort();
const wanted = digest(files);
if (existsSync(output) && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) process.exit(0);

if (process.platform !== 'linux') giveUp(`there is none for ${process.platform}`);
const headers = findHeaders();
if (!headers) giveUp('no Node headers found; npm_config_nodedir can name their folder');
mkdirSync(dirname(output), { recursive: true });
const sources = files.filter((name) => name.endsWith('.c')).map((name) => join(folder, name));
const { error, status, signal, stderr } = spawnSync(
  compiler,
  [...flags, ...(isRequired ? ['-Werror'] : []), `-isystem${headers}`, ...sources, '-o', temporary],
  { encoding: 'utf8' },
);
if (error) giveUp(`${compiler}: ${error.code}`);
if (stderr) process.stderr.write(stderr);
if (status !== 0) giveUp(`${compiler} ended with ${status ?? signal}`);
const unloadable = whyUnloadable(temporary);
if (unloadable !== undefined) giveUp(`it does not load: ${unloadable}`);
rmSync(stamp, { force: true });
renameSync(temporary, output);
writeFileSync(stamp, wanted);
