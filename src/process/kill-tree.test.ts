import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { killGroup, signalGroup } from './kill-tree.ts';

/** A group with a leader and one member that outlives it when asked to exit. */
async function startGroup(script: string): Promise<{ leader: number; member: number; exited: Promise<unknown> }> {
  const child = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  const [line] = await once(child.stdout, 'data');
  child.stdout.destroy();
  return { leader: child.pid ?? 0, member: Number(`${line}`), exited };
}

async function gone(pid: number): Promise<void> {
  while (existsSync(`/proc/${pid}`)) await new Promise((resolve) => setImmediate(resolve));
}

test('a signal reaches the leader and its group', async () => {
  const { leader, member, exited } = await startGroup('sleep 100 & echo $!; wait');
  expect(signalGroup(leader, 'SIGTERM', false)).toBe(true);
  expect(await exited).toEqual([null, 'SIGTERM']);
  await gone(member);
});

test('what is left of a group is reached after its leader was collected', async () => {
  const { leader, member, exited } = await startGroup('sleep 100 >/dev/null & echo $!');
  await exited;
  expect(signalGroup(leader, 'SIGKILL', true)).toBe(true);
  await gone(member);
  expect(signalGroup(leader, 'SIGKILL', true)).toBe(false);
});

test('a number that a living process has is never signalled once the leader was collected', async () => {
  const { leader, member, exited } = await startGroup('sleep 100 >/dev/null & echo $!; wait');
  expect(signalGroup(leader, 'SIGKILL', true)).toBe(false);
  expect(existsSync(`/proc/${member}`)).toBe(true);
  killGroup(leader, false);
  await exited;
  await gone(member);
});

test('a group that is gone is not an error', async () => {
  const { leader, exited } = await startGroup('echo 0');
  await exited;
  expect(signalGroup(leader, 'SIGTERM', false)).toBe(false);
  killGroup(leader, false);
});

test.each([1, 0, -5, Number.NaN, 1.5])('%d is refused: it could mean everybody', (pid) => {
  expect(() => signalGroup(pid, 'SIGTERM', false)).toThrow(RangeError);
});
