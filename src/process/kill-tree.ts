/**
 * Signals to a child's whole process group. Owns the one question that makes this dangerous: whether the number still
 * means the child's group. Must never signal a group that may belong to somebody else.
 */
import { existsSync } from 'node:fs';
import { ExecError } from '../protocol/errors.ts';
import { errorCode, osErrorText } from '../util/os-error.ts';

/**
 * Sends a signal to the group led by `pid`; false when there is no such group any more. `reaped` says whether the
 * leader's exit has been collected.
 *
 * Until then the number is the leader's, dead or alive, and the signal is safe. Afterwards the number is free for
 * reuse only when the last member of the group is gone as well: the kernel gives out no number that is still the id of
 * a group. So if a process with this number exists now, the group is gone and the number is a stranger's; if none
 * exists, a group of this number is what is left of ours. Only Linux can be asked without a signal; elsewhere a group
 * whose leader was reaped is left alone.
 */
export function signalGroup(pid: number, signal: NodeJS.Signals, reaped: boolean): boolean {
  // kill(-1) means every process and kill(0) our own group.
  if (!Number.isSafeInteger(pid) || pid <= 1) throw new RangeError(`${pid} is not the id of a child`);
  if (reaped && !isUnusedPid(pid)) return false;
  try {
    process.kill(-pid, signal);
    return true;
  } catch (cause) {
    if (errorCode(cause) === 'ESRCH') return false;
    throw new ExecError('internal', `failed to signal process: ${osErrorText(cause)}`, { cause });
  }
}

/** Kills what may be killed. A group that may not (a program of another user) is left; its streams are closed anyway. */
export function killGroup(pid: number, reaped: boolean): void {
  try {
    signalGroup(pid, 'SIGKILL', reaped);
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
  }
}

function isUnusedPid(pid: number): boolean {
  return process.platform === 'linux' && existsSync('/proc/self') && !existsSync(`/proc/${pid}`);
}
