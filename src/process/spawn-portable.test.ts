import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { requestFor, untilDead, WatchedChild } from '../../test/support/watched-child.ts';
import { ExecError } from '../protocol/errors.ts';
import { createPortableSpawner, PORTABLE_LIMITS } from './spawn-portable.ts';
import type { SpawnRequest } from './spawner.ts';

const spawner = createPortableSpawner();
const start = (argv: string[], rest?: Partial<SpawnRequest>) => WatchedChild.start(spawner, argv, rest);
const shell = (script: string, rest?: Partial<SpawnRequest>) => start(['sh', '-c', script], rest);

test('a child prints to two streams, exits and ends', async () => {
  await using child = await shell('echo out; echo err >&2; exit 3');
  expect(await child.finished()).toEqual({ code: 3, signal: null });
  expect(child.text('stdout')).toBe('out\n');
  expect(child.text('stderr')).toBe('err\n');
  expect(child.order.filter((event) => event !== 'output')).toHaveLength(2);
});

test.each(['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGHUP', 'SIGSEGV', 'SIGUSR1'] as const)(
  'death by %s is reported by name',
  async (signal) => {
    await using child = await shell('ulimit -c 0; echo up; exec sleep 100');
    await child.until(/up/);
    child.child.signal(signal);
    expect(await child.finished()).toEqual({ code: null, signal });
  },
);

test('the child leads a session and a group of its own and has no descriptors but three', async () => {
  await using child = await start(['bash', '-c', 'ps -o pid=,pgid=,sid= -p $$; ls /proc/self/fd']);
  await child.finished();
  const [pid, pgid, sid, ...descriptors] = child.text().split(/\s+/).filter(Boolean).map(Number);
  expect([pid, pgid, sid]).toEqual([child.child.pid, child.child.pid, child.child.pid]);
  // Those of the test runner, which no spawner can help, are left out; 3 is the folder ls reads.
  const inherited = descriptors.filter((fd) => !runnersDescriptors().includes(fd));
  expect(inherited).toEqual([0, 1, 2, 3]);
});

/** Descriptors the runner itself passes on to its children: those that carry no close-on-exec flag. */
function runnersDescriptors(): number[] {
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((fd) => fd > 2 && isPassedOn(fd));
}

function isPassedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & 0o2000000) === 0;
  } catch {
    return false;
  }
}

test('the environment, the folder, the arguments and argv[0] are exactly as asked', async () => {
  await using environment = await start(['/usr/bin/env'], { env: { 'A=B': 'b', '': 'c', Z: 'ü' } });
  await environment.finished();
  expect(environment.text().split('\n').sort()).toEqual(['', '=c', 'A=B=b', 'Z=ü']);

  await using bare = await start(['/usr/bin/env'], { env: {} });
  await bare.finished();
  expect(bare.text()).toBe('');

  const script = 'tr "\\0" "|" </proc/$$/cmdline; pwd; readlink /proc/$$/exe; exit';
  await using named = await start(['bash', '-c', script, 'a b', ''], { arg0: 'myname', cwd: '/usr' });
  await named.finished();
  expect(named.text()).toBe(`myname|-c|${script}|a b||/usr\n${readExe()}\n`);
});

const readExe = (): string => execFileSync('readlink', ['-f', '/usr/bin/bash'], { encoding: 'utf8' }).trim();

test('a program is found in the PATH of the child and sees the bare name', async () => {
  await using child = await start(['bash', '-c', 'tr "\\0" "|" </proc/$$/cmdline'], { env: { PATH: '/usr/bin' } });
  await child.finished();
  expect(child.text()).toMatch(/^bash\|-c\|/);
});

test.each([
  ['a missing program', { argv: ['nonexistent-prog'] }, 'No such file or directory (os error 2)'],
  ['a missing folder', { cwd: '/nonexistent-dir' }, 'No such file or directory (os error 2)'],
  ['an empty program', { argv: [''] }, 'missing program for pipe spawn'],
  ['a PATH without it', { env: { PATH: '/nonexistent' } }, 'No such file or directory (os error 2)'],
  ['an argument list that is too long', { argv: ['true', 'x'.repeat(200_000)] }, 'Argument list too long (os error 7)'],
])('%s fails the start with its text', async (_case, rest, text) => {
  await expect(start(['true'], rest)).rejects.toThrow(new ExecError('internal', text));
});

test('a script whose interpreter is missing fails the start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spawn-'));
  await writeFile(join(folder, 'script'), '#!/nonexistent\n', { mode: 0o755 });
  await expect(start(['./script'], { cwd: folder })).rejects.toThrow(
    new ExecError('internal', 'No such file or directory (os error 2)'),
  );
  rmSync(folder, { recursive: true });
});

test('without free descriptors a start fails with the text of the system, and later ones work', async () => {
  const openFiles = readdirSync('/proc/self/fd').map(Number);
  const spare = Array.from({ length: 40 }, () => openSync('/dev/null', 'r'));
  limitDescriptors(Math.max(...openFiles, ...spare) + 1);
  try {
    // Fill the holes below the limit.
    for (;;) spare.push(openSync('/dev/null', 'r'));
  } catch {
    await expect(start(['true'])).rejects.toThrow(
      new ExecError('internal', 'No file descriptors available (os error 24)'),
    );
  } finally {
    for (const fd of spare) closeSync(fd);
    limitDescriptors(4_096);
  }
  await using child = await start(['true']);
  expect(await child.finished()).toEqual({ code: 0, signal: null });
});

function limitDescriptors(soft: number): void {
  execFileSync('prlimit', ['--pid', `${process.pid}`, `--nofile=${soft}:`]);
}

test('stdin is empty unless a pipe is asked for', async () => {
  await using child = await start(['cat']);
  expect(await child.finished()).toEqual({ code: 0, signal: null });
  await child.child.write(Buffer.from('nobody reads this'));
  child.child.closeStdin();
});

test('written bytes arrive in order, then the end of file', async () => {
  await using child = await start(['cat'], { stdin: 'pipe' });
  const parts = Array.from({ length: 50 }, (_, index) => Buffer.alloc(10_000, index));
  const written = parts.map((part) => child.child.write(part));
  child.child.closeStdin();
  expect(await child.finished()).toEqual({ code: 0, signal: null });
  expect(child.bytes('stdout').equals(Buffer.concat(parts))).toBe(true);
  await Promise.all(written);
});

test('a write to a child that does not read is answered when it exits', async () => {
  await using child = await shell('read line; exit 0', { stdin: 'pipe' });
  const stuck = child.child.write(Buffer.alloc(4_000_000, 'x'));
  const behind = child.child.write(Buffer.from('y'));
  child.child.signal('SIGTERM');
  await Promise.all([stuck, behind]);
  expect(await child.finished()).toEqual({ code: null, signal: 'SIGTERM' });
  await child.child.write(Buffer.from('late'));
});

test('a write to a child that closed its end is dropped', async () => {
  await using child = await shell('exec 0<&-; echo closed; sleep 100', { stdin: 'pipe' });
  await child.until(/closed/);
  await child.child.write(Buffer.from('x'));
  await child.child.write(Buffer.from('y'));
  expect(child.order).not.toContain('exited');
});

test('output comes in pieces of at most 64 KiB and is complete', async () => {
  await using child = await start(['seq', '1', '200000']);
  await child.finished();
  expect(child.text()).toBe(`${Array.from({ length: 200_000 }, (_, index) => index + 1).join('\n')}\n`);
  expect(Math.max(...child.chunkSizes)).toBeLessThanOrEqual(65_536);
});

test('nothing comes before begin, not even from a child that is long gone', async () => {
  const child = await spawner.spawn(requestFor(['echo', 'early']));
  await untilDead(child.pid);
  const watched = new WatchedChild(child);
  watched.begin();
  expect(watched.order).toEqual([]);
  expect(await watched.finished()).toEqual({ code: 0, signal: null });
  expect(watched.text()).toBe('early\n');
});

test('a pause before begin holds', async () => {
  const watched = new WatchedChild(await spawner.spawn(requestFor(['echo', 'x'])));
  watched.child.pause();
  watched.begin();
  await watched.exited;
  await untilDead(watched.child.pid);
  expect(watched.order).toEqual(['exited']);
  watched.child.resume();
  await watched.finished();
  expect(watched.text()).toBe('x\n');
});

test('a paused child blocks, also over its exit, and nothing is lost', async () => {
  await using child = await shell('seq 1 30000; echo done >&2');
  child.onOutput = () => child.child.pause();
  let turns = 0;
  while (!child.order.includes('ended')) {
    const before = child.order.filter((event) => event === 'output').length;
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    // The pieces of two streams may come in one turn, before the pause of the first reaches the second.
    expect(child.order.filter((event) => event === 'output').length - before).toBeLessThanOrEqual(1);
    child.child.resume();
    turns += 1;
  }
  await child.finished();
  expect(turns).toBeGreaterThan(2);
  expect(child.text('stdout')).toBe(`${Array.from({ length: 30_000 }, (_, index) => index + 1).join('\n')}\n`);
  expect(child.text('stderr')).toBe('done\n');
});

test('whenever it is paused and resumed, no output comes while paused and all of it comes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('pause', 'resume', 'turn'), { maxLength: 40 }), async (plan) => {
      await using child = await start(['seq', '1', '20000']);
      let isPaused = false;
      child.onOutput = () => expect(isPaused).toBe(false);
      for (const step of plan) {
        if (step === 'turn') await new Promise((resolve) => setImmediate(resolve));
        else {
          isPaused = step === 'pause';
          child.child[step]();
        }
      }
      isPaused = false;
      child.child.resume();
      expect(await child.finished()).toEqual({ code: 0, signal: null });
      expect(child.bytes().byteLength).toBe(108_894);
    }),
    { numRuns: 25 },
  );
});

test('output of a descendant may follow the exit; the end comes after the last holder of the pipe', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spawn-'));
  const gate = join(folder, 'gate');
  await using child = await shell(`mkfifo ${gate}; (read go <${gate}; echo late) & echo first`);
  await child.exited;
  await child.until(/first/);
  expect(child.order).not.toContain('ended');
  await writeFile(gate, 'go\n');
  await child.ended;
  expect(child.text()).toBe('first\nlate\n');
  rmSync(folder, { recursive: true });
});

test('kill ends the whole group and closes the pipes even of a descendant that escaped', async () => {
  await using child = await shell('setsid sh -c "echo \\$\\$; exec sleep 100" & wait');
  const escaped = Number((await child.until(/(\d+)\n/))[1]);
  child.child.kill();
  expect(await child.finished()).toEqual({ code: null, signal: 'SIGKILL' });
  process.kill(escaped, 'SIGKILL');
});

test('kill while paused drops what was read and ends at once', async () => {
  await using child = await start(['yes']);
  await child.until(/y/);
  child.child.pause();
  const before = child.chunkSizes.length;
  child.child.kill();
  expect(await child.finished()).toEqual({ code: null, signal: 'SIGKILL' });
  expect(child.chunkSizes.length).toBe(before);
});

test('kill after the exit reaches what is left of the group', async () => {
  await using child = await shell('sleep 100 & echo $!');
  const left = Number((await child.until(/(\d+)\n/))[1]);
  await child.exited;
  child.child.kill();
  await child.ended;
  await untilDead(left);
});

test('a signal reaches the whole group, and none is sent after the exit', async () => {
  await using child = await shell('sleep 100 & echo $!; wait');
  const member = Number((await child.until(/(\d+)\n/))[1]);
  child.child.signal('SIGTERM');
  expect(await child.finished()).toEqual({ code: null, signal: 'SIGTERM' });
  await untilDead(member);
  child.child.signal('SIGKILL');
});

test('a child on pipes has no size', async () => {
  await using child = await start(['true']);
  expect(() => child.child.resize({ rows: 1, cols: 1 })).toThrow(ExecError);
});

test('a hundred children at once are all told apart', async () => {
  const children = await Promise.all(
    Array.from({ length: 100 }, (_, index) => start(['sh', '-c', `echo ${index}; exit ${index}`])),
  );
  for (const [index, child] of children.entries()) {
    expect(await child.finished()).toEqual({ code: index, signal: null });
    expect(child.text()).toBe(`${index}\n`);
  }
});

test('the limits are sentences', () => {
  for (const limit of PORTABLE_LIMITS) expect(limit).toMatch(/^[a-zA-Z].*\.$/);
});
