/** Runs one workload against all servers in turns, so that the noise of the machine hits all of them alike. */
import { startServer } from './servers.mjs';
import { within } from './statistics.mjs';
import { toRow } from './table.mjs';

// Several times what the slowest takes.
const REPETITION_LIMIT_MS = 60_000;

/** The rows of the workload's metrics, and what went wrong. A failed run leaves a hole among the samples of its server. */
export async function runWorkload(workload, recipes, { reps, effort }) {
  const samples = workload.metrics.map(() => ({}));
  const errors = [];
  const servers = new Map();
  const runs = reps * (workload.times ?? 1);
  for (let run = 0; run < runs; run += 1) {
    console.error(`${workload.name} ${run + 1}/${runs}`);
    // Who goes first changes: the second may find the machine warmer.
    for (const recipe of run % 2 === 0 ? recipes : recipes.toReversed()) {
      try {
        const values = await measure(workload, servers, recipe, effort);
        for (const [at, value] of values.entries()) {
          samples[at][recipe.name] ??= [];
          samples[at][recipe.name][run] = value;
        }
      } catch (failure) {
        errors.push({ workload: workload.name, server: recipe.name, error: failure.message });
      }
    }
  }
  for (const server of servers.values()) await server.stop();
  return { rows: workload.metrics.map((metric, at) => toRow(metric, samples[at])), errors };
}

async function measure(workload, servers, recipe, effort) {
  const server = servers.get(recipe) ?? (await startServer(recipe));
  // Back in the map only after a good run: one that failed may have fallen silent or hold what the run left.
  servers.delete(recipe);
  try {
    const values = await within(REPETITION_LIMIT_MS, workload.name, workload.run(server, effort));
    if (workload.server !== 'per repetition') servers.set(recipe, server);
    return values;
  } finally {
    if (!servers.has(recipe)) await server.stop();
  }
}
