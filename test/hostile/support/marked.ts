/** Finds processes anywhere on the machine by a mark in their command line, whoever their parent is by now. */
import { readdirSync, readFileSync } from 'node:fs';
import { until } from './until.ts';

let count = 0;

/** A duration for `sleep` that nobody else uses: long enough to be found, and harmless if it were not. */
export function newMark(): string {
  count += 1;
  return `300.${process.pid}${count.toString().padStart(4, '0')}`;
}

/** Ids of the living processes that have this mark as an argument; shells that merely mention it do not count. */
export function marked(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandLine(pid).split('\0').includes(mark))
    .map(Number);
}

export async function untilMarked(mark: string, wanted: number): Promise<number[]> {
  return await until(
    () => marked(mark),
    (pids) => pids.length === wanted,
    `${wanted} processes with ${mark}`,
  );
}

/** Ends whatever is left with this mark, so that a failing test leaves nothing on the machine. */
export function killMarked(mark: string): void {
  for (const pid of marked(mark)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended while we looked.
    }
  }
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8'); // Empty for a zombie.
  } catch {
    return ''; // It ended while we looked.
  }
}
