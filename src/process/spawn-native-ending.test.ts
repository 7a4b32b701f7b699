import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  dead,
  hasNative,
  nativeAddon,
  shellNative as shell,
  startNative as start,
  turn,
} from '../../test/support/native.ts';
import { requestFor, WatchedChild } from '../../test/support/watched-child.ts';
import { ExecError } from '../protocol/errors.ts';
import { createNativeSpawner } from './spawn-native.ts';

describe.skipIf(!hasNative)('ending', () => {
  test.each(['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGHUP', 'SIGSEGV', 'SIGABRT', 'SIGUSR1', 'SIGPIPE'] as const)(
    'death by %s is reported by name',
    async (signal) => {
      await using child = await shell('ulimit -c 0; echo up; exec sleep 100');
      await child.until(/up/);
      child.child.signal(signal);
      expect(await child.finished()).toEqual({ code: null, signal });
    },
  );

  test.each([34, 40, 64])('death by real-time signal %d is reported by number', async (signal) => {
    await using child = await start(['perl', '-e', `kill ${signal}, $$; sleep 100`]);
    expect(await child.finished()).toEqual({ code: null, signal: `SIG${signal}` });
  });

  test('exit codes keep their eight bits', async () => {
    for (const code of [0, 1, 127, 128, 255]) {
      await using child = await shell(`exit ${code}`);
      expect(await child.finished()).toEqual({ code, signal: null });
    }
  });

  test('kill ends the whole group and closes the pipes even of a descendant that escaped', async () => {
    await using child = await shell('sleep 100 & echo $!; setsid sh -c "echo \\$\\$; exec sleep 100" & wait');
    const [, member, escaped] = (await child.until(/(\d+)\n(\d+)\n/)).map(Number);
    child.child.kill();
    expect(child.order).not.toContain('ended'); // Nothing is told before the call returns.
    expect(await child.finished()).toEqual({ code: null, signal: 'SIGKILL' });
    await dead(member ?? 0);
    process.kill(escaped ?? 0, 'SIGKILL');
  });

  test('kill while paused ends at once and delivers no more', async () => {
    await using child = await start(['yes']);
    await child.until(/y/);
    child.child.pause();
    const before = child.chunkSizes.length;
    child.child.kill();
    expect(await child.finished()).toEqual({ code: null, signal: 'SIGKILL' });
    expect(child.chunkSizes.length).toBe(before);
  });

  test('kill from within an output event is safe', async () => {
    await using child = await shell('yes & yes >&2 & wait');
    child.onOutput = () => child.child.kill();
    expect(await child.finished()).toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('kill after the exit reaches what is left of the group', async () => {
    await using child = await shell('sleep 100 & echo $!');
    const left = Number((await child.until(/(\d+)\n/))[1]);
    await child.exited;
    child.child.kill();
    await child.ended;
    await dead(left);
  });

  test('kill before begin is told after it', async () => {
    const child = new WatchedChild(await createNativeSpawner(nativeAddon()).spawn(requestFor(['yes'])));
    child.child.kill();
    child.child.kill();
    await turn();
    child.begin();
    expect(child.order).toEqual([]);
    expect(await child.finished()).toEqual({ code: null, signal: 'SIGKILL' });
    expect(new Set(child.order)).toEqual(new Set(['ended', 'exited']));
    expect(child.order).toHaveLength(2);
  });

  test('a signal reaches the whole group, and none is sent after the exit', async () => {
    const member =
      '$SIG{USR1} = sub { print "got\\n"; exit }; print "up\\n"; select(undef, undef, undef, 0.02) while 1';
    await using child = await start(['perl', '-e', `$| = 1; fork; ${member}`]);
    await child.until(/up\nup\n/);
    child.child.signal('SIGUSR1');
    expect(await child.finished()).toEqual({ code: 0, signal: null });
    expect(child.text()).toBe('up\nup\ngot\ngot\n');
    child.child.signal('SIGKILL');
  });

  test("exits do not get mixed up with those of Node's own children", async () => {
    const ours = Array.from({ length: 30 }, (_, index) => shell(`exit ${index}`));
    const nodes = Array.from({ length: 30 }, async (_, index) => {
      const [code] = await once(spawn('sh', ['-c', `exit ${index + 100}`], { stdio: 'ignore' }), 'exit');
      return code;
    });
    expect(await Promise.all(nodes)).toEqual(Array.from({ length: 30 }, (_, index) => index + 100));
    for (const [index, child] of (await Promise.all(ours)).entries()) {
      expect(await child.finished()).toEqual({ code: index, signal: null });
    }
  });

  test('a child on pipes has no size', async () => {
    await using child = await start(['true']);
    expect(() => child.child.resize({ rows: 1, cols: 1 })).toThrow(
      new ExecError('invalidParams', 'only a terminal has a size'),
    );
  });

  test('a hundred children at once are all told apart', async () => {
    const children = await Promise.all(
      Array.from({ length: 100 }, (_, index) => shell(`echo ${index}; exit ${index}`)),
    );
    for (const [index, child] of children.entries()) {
      expect(await child.finished()).toEqual({ code: index, signal: null });
      expect(child.text()).toBe(`${index}\n`);
    }
  });

  test('whatever is done to a child in whatever order, its exit and its end are told once each', async () => {
    const steps = [
      'pause',
      'resume',
      'kill',
      'closeStdin',
      'write',
      'big write',
      'SIGTERM',
      'SIGCONT',
      'resize',
      'turn',
    ] as const;
    const programs = [['cat'], ['yes'], ['seq', '5000'], ['true'], ['sh', '-c', 'yes & exec >&-; sleep 0.01']];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...programs),
        fc.constantFrom(undefined, { rows: 24, cols: 80 }),
        fc.array(fc.constantFrom(...steps), { maxLength: 12 }),
        fc.nat(12),
        async (argv, terminal, plan, beginAt) => {
          const spawner = createNativeSpawner(nativeAddon());
          const watched = new WatchedChild(await spawner.spawn(requestFor(argv, { stdin: 'pipe', terminal })));
          const { child } = watched;
          const writes: Promise<void>[] = [];
          for (const [index, step] of plan.entries()) {
            if (index === beginAt) watched.begin();
            if (step === 'turn') await turn();
            else if (step === 'write') writes.push(child.write(Buffer.from('text\n')));
            else if (step === 'big write') writes.push(child.write(Buffer.alloc(200_000, 'x\n')));
            else if (step === 'SIGTERM' || step === 'SIGCONT') child.signal(step);
            else if (step !== 'resize') child[step]();
            else if (terminal) child.resize({ rows: 10, cols: 20 });
          }
          if (beginAt >= plan.length) watched.begin();
          child.kill();
          const { code, signal } = await watched.finished();
          expect([code, signal].filter((value) => value === null)).toHaveLength(1);
          await Promise.all(writes);
          expect(watched.order.filter((event) => event !== 'output')).toHaveLength(2);
          expect(watched.order.at(-1)).not.toBe('output');
        },
      ),
      { numRuns: 150 },
    );
  });
});
