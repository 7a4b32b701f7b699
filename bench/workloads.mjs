/** Every workload, in the order in which they run. */
import { workloads as coldStart } from './workloads/cold-start.mjs';
import { workloads as echo } from './workloads/echo.mjs';
import { workloads as manyProcesses } from './workloads/many-processes.mjs';
import { workloads as neighbours } from './workloads/neighbours.mjs';
import { workloads as noOp } from './workloads/no-op.mjs';
import { workloads as output } from './workloads/output.mjs';
import { workloads as start } from './workloads/start.mjs';

/**
 * A workload has a name, a summary, its metrics, and `run(server, effort)`, which gives one value per metric in their
 * order; an effort of 1 is a full measurement. Its server lives through all repetitions unless it says otherwise.
 */
export const workloads = [...coldStart, ...noOp, ...start, ...output, ...echo, ...neighbours, ...manyProcesses];
