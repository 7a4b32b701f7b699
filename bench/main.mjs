/**
 * farhand's benchmark: our server and, where it is installed, the reference. Owns the command line, the report and the
 * end of everything that was started.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, release } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runWorkload } from './run.mjs';
import { killAll, ourRecipe, referenceRecipe, root, withProfile } from './servers.mjs';
import { toTable } from './table.mjs';
import { workloads } from './workloads.mjs';

const USAGE = `Usage: npm run bench -- [options]

Measures our server and, where it is installed, the reference: the binary named by CODEX_BIN, or the one that
\`npm run interop\` left in .interop/. Linux only.

Options:
  --only <NAME,...>   only these workloads
  --reps <COUNT>      repetitions of each workload and server [default: 3; with --quick: 1]
  --quick             a tenth of the work: shows that it runs, not how fast
  --list              the workloads and what they measure
  --json <FILE>       write every sample to a file as well
  --spawner <NAME>    how our server starts processes: native or portable
  --profile <DIR>     a CPU profile of our server for each workload; the reference stays out
  --help              this text

A ratio is ours to the reference's, the median over neighbouring runs; under 15 % is noise. A missed target is no
failure: the exit code is 1 only when a run of our server failed.`;

const QUICK_EFFORT = 0.1;

function parseOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      reps: { type: 'string' },
      quick: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      json: { type: 'string' },
      spawner: { type: 'string' },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const reps = Number(values.reps ?? (values.quick ? 1 : 3));
  if (!Number.isInteger(reps) || reps < 1) throw new Error('--reps takes a whole number from 1');
  if (!['native', 'portable', undefined].includes(values.spawner)) throw new Error('--spawner is native or portable');
  const names = values.only?.split(',');
  const unknown = names?.find((name) => !workloads.some((workload) => workload.name === name));
  if (unknown !== undefined) throw new Error(`no workload is called ${JSON.stringify(unknown)}; see --list`);
  const chosen = workloads.filter(({ name }) => names?.includes(name) ?? true);
  return { ...values, reps, chosen, effort: values.quick ? QUICK_EFFORT : 1 };
}

function printList() {
  for (const { name, summary, metrics } of workloads) {
    console.log(`${name}: ${summary}`);
    for (const metric of metrics)
      console.log(`  ${metric.name} [${metric.unit}] ${metric.target?.text ?? ''}`.trimEnd());
  }
}

/** What to start for one workload, ours first. */
function toRecipes({ spawner, profile }, runFolder) {
  const ours = ourRecipe({ runFolder, flags: spawner ? ['--spawner', spawner] : [] });
  if (profile) return ({ name }) => [withProfile(ours, resolve(profile), name)];
  const reference = referenceRecipe({ runFolder });
  return () => (reference ? [ours, reference] : [ours]);
}

async function run(options, runFolder) {
  const about = {
    at: new Date().toISOString(),
    node: process.version,
    kernel: release(),
    cpus: availableParallelism(),
  };
  const recipesOf = toRecipes(options, runFolder);
  const versions = Object.fromEntries(recipesOf({}).map(({ name, version }) => [name, version]));
  const [rows, errors] = [[], []];
  const loadBefore = loadavg();
  for (const workload of options.chosen) {
    const done = await runWorkload(workload, recipesOf(workload), options);
    rows.push(...done.rows);
    errors.push(...done.errors);
  }
  const load = { before: loadBefore[0], after: loadavg()[0] };
  const { reps, quick, spawner } = options;
  if (options.json) {
    const everything = { ...about, load, versions, reps, quick, spawner, metrics: rows, errors };
    writeFileSync(options.json, `${JSON.stringify(everything, undefined, 2)}\n`);
  }
  console.log(toTable(rows));
  console.log(
    `\nours ${versions.ours}, reference ${versions.reference ?? 'not measured'}; Node ${about.node}, ${about.cpus} CPUs, ` +
      `load ${load.before.toFixed(1)} to ${load.after.toFixed(1)}; repetitions: ${reps}${quick ? ', quick: no measurement' : ''}`,
  );
  for (const { workload, server, error } of errors) console.log(`FAILED ${workload} (${server}): ${error}`);
  if (errors.some(({ server }) => server === 'ours')) process.exitCode = 1;
}

async function main() {
  const options = parseOptions();
  if (options.help) return console.log(USAGE);
  if (options.list) return printList();
  if (!existsSync('/proc/self/stat')) throw new Error('CPU and memory are read from /proc, which is missing here');
  // Not below the temporary directory: the reference does not set up its home completely there.
  const store = join(root, '.interop');
  mkdirSync(store, { recursive: true });
  const runFolder = mkdtempSync(join(store, 'bench-'));
  process.on('exit', () => {
    killAll();
    rmSync(runFolder, { recursive: true, force: true });
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
  await run(options, runFolder);
}

try {
  await main();
} catch (failure) {
  console.error(`bench: ${failure.message}`);
  process.exitCode = 2;
}
