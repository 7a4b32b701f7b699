import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasNative, shellNative as shell, startNative as start, statusLine, turn } from '../../test/support/native.ts';
import { WatchedChild } from '../../test/support/watched-child.ts';
import { ExecError } from '../protocol/errors.ts';
import { loadPtyBinding } from './pty-binding.ts';
import { createPortableSpawner } from './spawn-portable.ts';
import { openMasters } from './spawn-pty.ts';

const SIZE = { rows: 24, cols: 80 };
const hasPtyPackage = ((): boolean => {
  try {
    return loadPtyBinding() !== undefined;
  } catch {
    return false;
  }
})();

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fh-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function script(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

describe.skipIf(!hasNative)('what the child finds', () => {
  test('two streams, and its exit code', async () => {
    await using child = await shell('echo out; echo err >&2; exit 3');
    expect(await child.finished()).toEqual({ code: 3, signal: null });
    expect(child.text('stdout')).toBe('out\n');
    expect(child.text('stderr')).toBe('err\n');
    // What it printed comes before its exit; which of exit and end of file is seen first is the kernel's choice.
    expect(child.order.slice(0, 2)).toEqual(['output', 'output']);
    expect(new Set(child.order.slice(2))).toEqual(new Set(['exited', 'ended']));
  });

  test('real pipes, which can be opened by name', async () => {
    await using child = await shell('echo one >/dev/stdout; echo two | tee /dev/stderr; echo three >/dev/stderr');
    expect(await child.finished()).toEqual({ code: 0, signal: null });
    expect(child.text('stdout')).toBe('one\ntwo\n');
    expect(child.text('stderr')).toBe('two\nthree\n');

    await using reader = await shell('cat /dev/stdin', { stdin: 'pipe' });
    await reader.child.write(Buffer.from('by name'));
    reader.child.closeStdin();
    await reader.finished();
    expect(reader.text()).toBe('by name');
  });

  test('a session and a group of its own', async () => {
    await using child = await shell('ps -o pid=,pgid=,sid= -p $$');
    await child.finished();
    const { pid } = child.child;
    expect(child.text().trim().split(/\s+/).map(Number)).toEqual([pid, pid, pid]);
  });

  test.skipIf(!hasPtyPackage)('no descriptors but three, whatever others left open without care', async () => {
    await using careless = await WatchedChild.start(createPortableSpawner(), ['sleep', '100'], { terminal: SIZE });
    expect([...openMasters].map((fd) => statusLine(`/proc/self/fdinfo/${fd}`, 'flags'))).toEqual(['0104002']); // no CLOEXEC
    await using child = await start(['ls', '/proc/self/fd']);
    await child.finished();
    expect(child.text()).toBe('0\n1\n2\n3\n'); // 3 is the folder ls reads.
    careless.child.kill();
  });

  test('every signal at its default and none blocked', async () => {
    const listener = (): void => {};
    process.on('SIGUSR2', listener);
    expect(Number.parseInt(statusLine('/proc/self/status', 'SigIgn').slice(-4), 16) & 0x1000).toBe(0x1000); // SIGPIPE
    await using child = await start(['cat', '/proc/self/status']);
    await child.finished();
    process.off('SIGUSR2', listener);
    for (const name of ['SigBlk', 'SigIgn', 'SigCgt']) expect(child.text()).toContain(`${name}:\t${'0'.repeat(16)}\n`);
  });

  test('environment, folder, arguments and argv[0] exactly as asked', async () => {
    await using environment = await start(['/usr/bin/env'], { env: { 'A=B': 'b', '': 'c', Z: 'ü' } });
    await environment.finished();
    expect(environment.text()).toBe('A=B=b\n=c\nZ=ü\n');

    await using bare = await start(['/usr/bin/env'], { env: {} });
    await bare.finished();
    expect(bare.text()).toBe('');

    const print = 'tr "\\0" "|" </proc/$$/cmdline; pwd';
    await using named = await start(['bash', '-c', print, 'a b', '', 'ü'], { arg0: 'my name', cwd: '/usr' });
    await named.finished();
    expect(named.text()).toBe(`my name|-c|${print}|a b||ü|/usr\n`);
  });

  test('a stdin that is empty unless a pipe was asked for', async () => {
    await using child = await start(['cat']);
    expect(await child.finished()).toEqual({ code: 0, signal: null });
    await child.child.write(Buffer.from('nobody reads this'));
    child.child.closeStdin();
  });

  test('the descriptors it was promised, also when their numbers cross', async () => {
    const files = ['one', 'two', 'three'].map((text) => {
      writeFileSync(join(folder, text), text);
      return openSync(join(folder, text), 'r');
    });
    const [one = -1, two = -1, three = -1] = files;
    const descriptors = [
      { child: two, parent: one },
      { child: one, parent: two },
      { child: three, parent: three },
      { child: 3, parent: three },
    ];
    const print = `cat <&${two}; cat <&${one}; cat <&${three}; cat /dev/fd/3; exec ls /proc/self/fd`;
    await using child = await start(['bash', '-c', print], { descriptors });
    expect(await child.finished()).toEqual({ code: 0, signal: null });
    const [, contents, open = ''] = /^(\D*)([\s\S]*)$/.exec(child.text()) ?? [];
    expect(contents).toBe('onetwothreethree');
    const numbersOpen = open.trim().split('\n').map(Number);
    expect(numbersOpen).toEqual(expect.arrayContaining([0, 1, 2, 3, one, two, three]));
    expect(numbersOpen).toHaveLength(8); // One more is the folder ls reads.
    for (const fd of files) closeSync(fd);
  });
});

describe.skipIf(!hasNative)('starts that fail', () => {
  test.each([
    ['a missing program', { argv: ['nonexistent-prog'] }, 'No such file or directory (os error 2)'],
    ['a missing folder', { cwd: '/nonexistent-dir' }, 'No such file or directory (os error 2)'],
    ['a file for a folder', { cwd: '/etc/passwd' }, 'Not a directory (os error 20)'],
    ['a folder for a program', { argv: ['/usr'] }, 'Permission denied (os error 13)'],
    ['an empty program', { argv: [''] }, 'missing program for pipe spawn'],
    ['a PATH without it', { env: { PATH: '/nonexistent' } }, 'No such file or directory (os error 2)'],
    ['one argument that is too long', { argv: ['true', 'x'.repeat(200_000)] }, 'Argument list too long (os error 7)'],
    [
      'too many',
      { argv: ['true', ...Array<string>(50).fill('x'.repeat(99_999))] },
      'Argument list too long (os error 7)',
    ],
    [
      'a descriptor that is not open',
      { descriptors: [{ child: 3, parent: 9_999 }] },
      'Bad file descriptor (os error 9)',
    ],
  ])('%s is reported with its text', async (_case, rest, text) => {
    await expect(start(['true'], rest)).rejects.toThrow(new ExecError('internal', text));
  });

  test('a script whose interpreter is missing', async () => {
    const path = script('lost', '#!/nonexistent\n');
    await expect(start([path])).rejects.toThrow(new ExecError('internal', 'No such file or directory (os error 2)'));
  });

  test('a program whose loader is no program', async () => {
    const loader = script('l', 'no program\n'.repeat(20));
    const program = readFileSync('/bin/true');
    const [named = ''] = /\/lib[^\0]*ld-[^\0]*/.exec(program.toString('latin1')) ?? [];
    const path = script('corrupt', '');
    writeFileSync(path, program.toString('latin1').replace(named, loader.padEnd(named.length, '\0')), 'latin1');
    expect(loader.length).toBeLessThanOrEqual(named.length);
    await expect(start([path])).rejects.toThrow(/^.+ \(os error 80\)$/);
  });

  test('a script without an interpreter line does not fail: the shell runs it', async () => {
    const path = script('plain', 'echo "$0 $1 $#"; exit 4\n');
    await using child = await start([path, 'a b', 'c'], { arg0: 'unseen' });
    expect(await child.finished()).toEqual({ code: 4, signal: null });
    expect(child.text()).toBe(`${path} a b 2\n`);
  });

  test('without free descriptors, and later ones work', async () => {
    const spare = Array.from({ length: 40 }, () => openSync('/dev/null', 'r'));
    limitDescriptors(Math.max(...readdirSync('/proc/self/fd').map(Number), ...spare) + 1);
    try {
      for (;;) spare.push(openSync('/dev/null', 'r'));
    } catch {
      // From none to all but one of those that a start needs.
      for (let free = 0; free < 7; free += 1) {
        await expect(start(['true'], { stdin: 'pipe' })).rejects.toThrow(
          new ExecError('internal', 'No file descriptors available (os error 24)'),
        );
        closeSync(spare.pop() ?? -1);
        await turn();
      }
    } finally {
      for (const fd of spare) closeSync(fd);
      limitDescriptors(4_096);
    }
    await using child = await start(['true']);
    expect(await child.finished()).toEqual({ code: 0, signal: null });
  });

  test('arguments and variables near the limit arrive whole', async () => {
    const large = Array.from({ length: 6 }, (_, index) => `${index}`.repeat(120_000));
    const env = Object.fromEntries(large.map((text, index) => [`V${index}`, text]));
    await using child = await start(
      ['/bin/bash', '-c', 'printf %s "$@" "$V0" "$V1" "$V2" "$V3" "$V4" "$V5"', 'x', ...large],
      {
        env,
      },
    );
    await child.finished();
    expect(child.text('stderr')).toBe('');
    expect(child.text() === large.join('') + large.join('')).toBe(true);
  });
});

function limitDescriptors(soft: number): void {
  execFileSync('prlimit', ['--pid', `${process.pid}`, `--nofile=${soft}:`]);
}
