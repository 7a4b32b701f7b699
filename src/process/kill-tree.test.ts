import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { isRunning, untilDead } from '../../test/support/watched-child.ts';
import { killGroup, signalGroup } from './kill-tree.ts';

/** A group whose leader prints the id of its other member. */
async function startGroup(script: string): Promise<{ leader: number; member: number; exited: Promise<unknown> }> {
  const child = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  const [line] = await once(child.stdout, 'data');
  child.stdout.destroy();
  return { leader: child.pid ?? 0, member: Number(`${line}`), exited };
}

test('a signal reaches the leader and its group', async () => {
  const { leader, member, exited } = await startGroup('sleep 100 & echo $!; wait');
  expect(signalGroup(leader, 'SIGTERM', false)).toBe(true);
  expect(await exited).toEqual([null, 'SIGTERM']);
  await untilDead(member);
});

test('what is left of a group is reached after its leader was collected', async () => {
  const { leader, member, exited } = await startGroup('sleep 100 >/dev/null & echo $!');
  await exited;
  expect(signalGroup(leader, 'SIGKILL', true)).toBe(true);
  await untilDead(member);
});

test('a number that a living process has is never signalled once the leader was collected', async () => {
  const { leader, member, exited } = await startGroup('sleep 100 >/dev/null & echo $!; wait');
  expect(signalGroup(leader, 'SIGKILL', true)).toBe(false);
  expect(isRunning(member)).toBe(true);
  killGroup(leader, false);
  await exited;
  await untilDead(member);
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
