/** What the kernel knows about a process: memory, CPU, descriptors, children. Linux only, as the whole folder is. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** The kernel counts CPU time in hundredths of a second. */
const MS_PER_TICK = 10;

/** Resident bytes now. */
export function residentBytes(pid: number): number {
  return statusBytes(pid, 'VmRSS');
}

/** How far the resident bytes rose above where they were while the work ran, whatever they are now. */
export async function peakGrowth(pid: number, work: () => Promise<void>): Promise<number> {
  const before = residentBytes(pid);
  writeFileSync(`/proc/${pid}/clear_refs`, '5'); // Makes the kernel forget the peak so far.
  await work();
  return statusBytes(pid, 'VmHWM') - before;
}

/** CPU time used so far, without that of children. */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

export function descriptorCount(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Direct children, zombies included: whoever started them has to collect them. */
export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}

/** What a process has written so far, to files, pipes and terminals alike. */
export function writtenBytes(pid: number): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

function statusBytes(pid: number, field: string): number {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(kilobytes?.[1]) * 1024;
}
