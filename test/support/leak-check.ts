/**
 * After every test: no child, no descriptor and no handle may be left that was not there before. Timers are not seen
 * here (the runner has its own); tests with an injected clock look at them.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { afterEach, beforeEach, expect } from 'vitest';

function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise; // It vanished while we looked, which is what we want to see.
  }
}

function children(): string[] {
  return readdirSync('/proc/self/task')
    .flatMap((task) => attempt(() => readFileSync(`/proc/self/task/${task}/children`, 'utf8'), '').split(' '))
    .filter(Boolean)
    .map((pid) => `${pid} ${attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '), '')}`);
}

function descriptors(): string[] {
  return readdirSync('/proc/self/fd')
    .map((fd) => `${fd} ${attempt(() => readlinkSync(`/proc/self/fd/${fd}`), '')}`)
    .filter((line) => /socket:|pipe:|ptmx|pidfd/.test(line));
}

const handles = (): string[] =>
  process
    .getActiveResourcesInfo()
    .filter((name) => !/Immediate|TTYWrap|Timeout|FSReqCallback|FSReqPromise/.test(name))
    .sort();

type Snapshot = { children: string[]; descriptors: string[]; handles: string[] };
const look = (): Snapshot => ({ children: children(), descriptors: descriptors(), handles: handles() });
const NONE: Snapshot = { children: [], descriptors: [], handles: [] };

let before = NONE;

if (process.platform === 'linux') {
  beforeEach(() => {
    before = look();
  });
  afterEach(async () => {
    let leaked = NONE;
    for (let attempts = 0; attempts < 40; attempts += 1) {
      const now = look();
      leaked = {
        children: now.children.filter((line) => !before.children.includes(line)),
        descriptors: now.descriptors.filter((line) => !before.descriptors.includes(line)),
        handles: now.handles.length > before.handles.length ? now.handles : [],
      };
      if (Object.values(leaked).every((list) => list.length === 0)) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    expect(leaked, 'left behind by the test').toEqual(NONE);
  });
}
