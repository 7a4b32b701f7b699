// Runs the tests of the native spawner on an addon built with gcc's address, leak and undefined-behaviour checks. Node
// itself leaks a little at its end, so a leak counts only if our own code allocated it.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(join(dirname(fileURLToPath(import.meta.url)), '..'));
const addon = join(process.cwd(), 'native/build/Sanitize/farhand.node');
const compiler = process.env.CC || 'cc';

function giveUp(reason) {
  console.warn(`the native tests were not run with sanitizers: ${reason}`);
  process.exit(process.env.REQUIRE_NATIVE === '1' ? 1 : 0);
}

/** The runtime has to come before everything else in the process; the compiler knows where it is. */
function runtime(name) {
  const { stdout } = spawnSync(compiler, [`-print-file-name=${name}`], { encoding: 'utf8' });
  const path = stdout?.trim();
  if (!path || !existsSync(path)) giveUp(`${compiler} has no ${name}`);
  return path;
}

const libraries = ['libasan.so', 'libubsan.so'].map(runtime);
rmSync(addon, { force: true });
spawnSync(process.execPath, ['scripts/native.mjs', '--sanitize'], { stdio: 'inherit' });
if (!existsSync(addon)) giveUp('the addon was not built');

const logs = mkdtempSync(join(tmpdir(), 'farhand-sanitize-'));
const tests =
  process.argv.length > 2 ? process.argv.slice(2) : ['src/process/spawn-native', 'src/process/native-addon'];
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...tests], {
  stdio: 'inherit',
  env: {
    ...process.env,
    FARHAND_TEST_ADDON: addon,
    LD_PRELOAD: libraries.join(':'),
    // Leaks of Node must not change the exit codes that tests look at; what counts is read from the logs.
    ASAN_OPTIONS: `detect_leaks=1:exitcode=0:log_path=${join(logs, 'report')}`,
    UBSAN_OPTIONS: `print_stacktrace=1:log_path=${join(logs, 'report')}`,
  },
});

const OURS = 4; // frames from the allocation; further down everything has been called from our code once
const reports = readdirSync(logs).flatMap((name) => readFileSync(join(logs, name), 'utf8').split(/\n\n+/));
const errors = reports.filter((text) => /ERROR: AddressSanitizer|runtime error:/.test(text));
const leaks = reports.filter(
  (text) =>
    /leak of/.test(text) &&
    text
      .split('\n')
      .slice(0, OURS)
      .some((line) => /farhand\.node|\/native\/\w+\.c/.test(line)),
);
rmSync(logs, { recursive: true });
for (const text of [...errors, ...leaks]) console.error(`${text}\n`);
console.log(
  `sanitizers: ${errors.length} errors, ${leaks.length} leaks of ours in ${reports.length} paragraphs of reports`,
);
process.exit(status || (errors.length + leaks.length > 0 ? 1 : 0));
