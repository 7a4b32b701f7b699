import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { requestFor, TEST_PATH, WatchedChild } from '../../test/support/watched-child.ts';
import { ExecError } from '../protocol/errors.ts';
import { loadPtyBinding } from './pty-binding.ts';
import { createPortableSpawner } from './spawn-portable.ts';
import { openMasters } from './spawn-pty.ts';
import type { SpawnRequest } from './spawner.ts';

const spawner = createPortableSpawner();
const TERMINAL = { rows: 24, cols: 80 };
const start = (argv: string[], rest?: Partial<SpawnRequest>) =>
  WatchedChild.start(spawner, argv, { terminal: TERMINAL, ...rest });
const shell = (script: string, rest?: Partial<SpawnRequest>) => start(['bash', '-c', script], rest);

test('all output is pty, lines end in CR LF, and the end follows the exit', async () => {
  await using child = await shell('echo out; echo err >&2; exit 3');
  expect(await child.finished()).toEqual({ code: 3, signal: null });
  expect(child.text('pty')).toBe('out\r\nerr\r\n');
  expect(child.order.at(-1)).toBe('ended');
});

test('the child leads a session that the terminal controls', async () => {
  await using child = await shell('ps -o pid=,pgid=,sid=,tpgid= -p $$; tty; test -r /dev/tty && echo controlled');
  await child.finished();
  const { pid } = child.child;
  expect(child.text().trim().split(/\s+/)).toEqual([
    ...Array<string>(4).fill(`${pid}`),
    expect.stringMatching(/^\/dev\/pts\/\d+$/),
    'controlled',
  ]);
});

test('the environment is exactly as asked, with the login shell where SHELL is absent', async () => {
  await using bare = await start(['/usr/bin/env'], { env: {} });
  await bare.finished();
  expect(bare.text()).toBe(`SHELL=${userInfo().shell}\r\n`);

  const env = { 'A=B': 'b', PWD: '/elsewhere', SHELL: '/bin/zz', TERM: '' };
  await using full = await start(['/usr/bin/env'], { env });
  await full.finished();
  expect(full.text()).toBe('A=B=b\r\nPWD=/elsewhere\r\nSHELL=/bin/zz\r\nTERM=\r\n');
});

test('a program is found in the PATH of the child and sees the bare name; the folder is the one asked for', async () => {
  await using child = await start(['bash', '-c', 'tr "\\0" "|" </proc/$$/cmdline; pwd'], { cwd: '/usr' });
  await child.finished();
  expect(child.text()).toBe('bash|-c|tr "\\0" "|" </proc/$$/cmdline; pwd|/usr\r\n');
});

test('arg0 is argv[0] and nothing else changes', async () => {
  const script = 'tr "\\0" "|" </proc/$$/cmdline; echo; readlink /proc/$$/exe';
  const env = { PATH: TEST_PATH, LC_ALL: 'no_SUCH' };
  await using named = await start(['sh', '-c', script, 'a b'], { arg0: 'my name', env });
  await named.finished();
  expect(named.text()).toMatch(/^my name\|-c\|.*\|a b\|\r\n\/\S+\r\n$/);

  for (const variables of [{ LC_ALL: 'no_SUCH' }, { PERL_BADLANG: '0' }]) {
    await using environment = await start(['/usr/bin/env'], { arg0: 'x', env: { SHELL: 's', ...variables } });
    await environment.finished();
    const [name, value] = Object.entries(variables)[0] ?? [];
    expect(environment.text().split('\r\n').sort()).toEqual(['', `${name}=${value}`, 'SHELL=s'].sort());
  }
});

test('the size is the one asked for and can be changed', async () => {
  await using child = await shell('trap "stty size" WINCH; stty size; while :; do sleep 0.05; done', {
    terminal: { rows: 30, cols: 100 },
  });
  await child.until(/30 100\r\n/);
  child.child.resize({ rows: 40, cols: 120 });
  await child.until(/40 120\r\n/);
});

test('resizing a terminal that is gone does nothing', async () => {
  await using child = await start(['true']);
  await child.finished();
  child.child.resize(TERMINAL);
});

test('input is echoed and read; control-D ends it', async () => {
  await using child = await start(['cat']);
  await child.child.write(Buffer.from('hello\n'));
  await child.until(/hello\r\nhello\r\n/);
  child.child.closeStdin();
  await child.child.write(Buffer.from('\x04'));
  expect(await child.finished()).toEqual({ code: 0, signal: null });
});

test('a child that closes its terminal and goes on is not hung up', async () => {
  await using child = await shell('echo first; exec <&- >&- 2>&-; sleep 0.05; echo late >/dev/tty; exit 7');
  expect(await child.finished()).toEqual({ code: 7, signal: null });
  expect(child.text()).toBe('first\r\nlate\r\n');
});

test('control-C interrupts what runs in the foreground', async () => {
  await using child = await shell('echo ready; sleep 100');
  await child.until(/ready/);
  await child.child.write(Buffer.from('\x03'));
  expect(await child.finished()).toEqual({ code: null, signal: 'SIGINT' });
  expect(child.text()).toBe('ready\r\n^C');
});

test('signals reach the group and death by signal is reported by name', async () => {
  await using child = await shell('echo ready; exec sleep 100');
  await child.until(/ready/);
  child.child.signal('SIGTERM');
  expect(await child.finished()).toEqual({ code: null, signal: 'SIGTERM' });
  child.child.signal('SIGKILL');
});

test('death by a signal without a name is reported by number', async () => {
  await using child = await shell('kill -40 $$');
  expect(await child.finished()).toEqual({ code: null, signal: 'SIG40' });
});

test('nothing of a long output is lost when the child exits at once', async () => {
  const expected = `${Array.from({ length: 250_000 }, (_, index) => index + 1).join('\r\n')}\r\n`;
  for (let round = 0; round < 6; round += 1) {
    await using child = await start(['seq', '1', '250000']);
    expect(await child.finished()).toEqual({ code: 0, signal: null });
    expect(child.bytes().byteLength).toBe(expected.length);
    expect(child.text() === expected).toBe(true);
  }
});

test('nothing is lost either when many print under load', async () => {
  const children = await Promise.all(Array.from({ length: 12 }, () => start(['seq', '1', '20000'])));
  for (const child of children) {
    await child.finished();
    expect(child.bytes().byteLength).toBe(128_894);
  }
});

test('a child that exits while paused loses nothing, however late it is resumed', async () => {
  await using child = await start(['seq', '1', '700']); // A terminal that nobody reads holds no more for sure.
  child.child.pause();
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(child.text()).toBe('');
  child.child.resume();
  await child.ended;
  expect(child.bytes().byteLength).toBe(3_392);
});

test('what was read but not delivered before a pause comes before what is read at the exit', async () => {
  await using child = await shell('stty -echo; echo one; read x; echo two; read x; echo three');
  await child.until(/one/);
  child.child.pause();
  await child.child.write(Buffer.from('\n'));
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  await child.child.write(Buffer.from('\n'));
  await child.exited;
  child.child.resume();
  await child.ended;
  expect(child.text()).toBe('one\r\ntwo\r\nthree\r\n');
});

test('pausing stops the child and resuming lets it go on', async () => {
  await using child = await start(['seq', '1', '40000']);
  child.onOutput = () => child.child.pause();
  while (!child.order.includes('ended')) {
    const before = child.chunkSizes.length;
    await new Promise((resolve) => setImmediate(resolve));
    expect(child.chunkSizes.length - before).toBeLessThanOrEqual(1);
    child.child.resume();
  }
  expect(child.bytes().byteLength).toBe(268_894);
});

test('nothing comes before begin', async () => {
  const watched = new WatchedChild(await spawner.spawn(requestFor(['echo', 'x'], { terminal: TERMINAL })));
  while (openMasters.size > 0) await new Promise((resolve) => setImmediate(resolve));
  watched.begin();
  expect(watched.order).toEqual([]);
  expect(await watched.finished()).toEqual({ code: 0, signal: null });
  expect(watched.text()).toBe('x\r\n');
});

test('a child that takes no input holds up nobody, and its writes end with it', async () => {
  await using stuck = await shell('stty raw -echo; echo ready; sleep 100');
  await stuck.until(/ready/);
  let isAnswered = false;
  const written = stuck.child.write(Buffer.alloc(1_000_000, 'x')).then(() => {
    isAnswered = true;
  });
  await using other = await start(['echo', 'served']);
  await other.finished();
  expect(other.text()).toBe('served\r\n');
  expect(isAnswered).toBe(false);
  stuck.child.kill();
  await written;
  await stuck.finished();
  await stuck.child.write(Buffer.from('late'));
});

test('a long input arrives whole and in order', async () => {
  await using child = await shell('stty raw -echo; echo ready; head -c 300000 | sha256sum');
  await child.until(/ready/);
  const parts = Array.from({ length: 30 }, (_, index) => Buffer.alloc(10_000, 65 + index));
  await Promise.all(parts.map((part) => child.child.write(part)));
  await child.finished();
  const { createHash } = await import('node:crypto');
  expect(child.text()).toContain(createHash('sha256').update(Buffer.concat(parts)).digest('hex'));
});

test('a background job does not delay the end', async () => {
  await using child = await shell('trap "" HUP; sleep 100 & echo $!');
  expect(await child.finished()).toEqual({ code: 0, signal: null });
  process.kill(Number(child.text().trim()), 'SIGKILL');
});

test('kill ends the group and the terminal at once, even while paused', async () => {
  await using child = await start(['yes']);
  await child.until(/y/);
  child.child.pause();
  child.child.kill();
  expect(await child.finished()).toEqual({ code: null, signal: 'SIGKILL' });
});

test('a child on pipes does not get hold of an open terminal', async () => {
  await using terminal = await start(['sleep', '100']);
  await using piped = await WatchedChild.start(spawner, ['bash', '-c', 'ls -l /proc/self/fd; echo ok']);
  expect(await piped.finished()).toEqual({ code: 0, signal: null });
  expect(openMasters.size).toBe(1);
  expect(piped.text()).toContain('ok');
  expect(piped.text()).not.toContain('ptmx');
  terminal.child.kill();
  await terminal.finished();
  expect(openMasters.size).toBe(0);
});

test.each([
  ['a missing folder', { cwd: '/nonexistent-dir' }, 'No such file or directory (os error 2)'],
  ['a file for a folder', { cwd: '/etc/passwd' }, 'Not a directory (os error 20)'],
  ['no PATH', { env: {} }, 'Unable to spawn true because:\nUnable to resolve the PATH'],
  ['an empty program', { argv: [''] }, 'missing program for PTY spawn'],
])('%s fails the start with its text', async (_case, rest, text) => {
  await expect(start(['true'], rest)).rejects.toThrow(new ExecError('internal', text));
});

test('without the package a terminal is refused with a hint, and pipes work', async () => {
  const without = createPortableSpawner({
    loadPty: () => {
      throw new ExecError('internal', 'a terminal needs the optional package');
    },
  });
  await expect(without.spawn(requestFor(['true'], { terminal: TERMINAL }))).rejects.toThrow('optional package');
  await using child = await WatchedChild.start(without, ['true']);
  expect(await child.finished()).toEqual({ code: 0, signal: null });
});

test('the package is loaded once', async () => {
  let loads = 0;
  const counting = createPortableSpawner({
    loadPty: () => {
      loads += 1;
      return loadPtyBinding();
    },
  });
  for (let round = 0; round < 2; round += 1) {
    await using child = await WatchedChild.start(counting, ['true'], { terminal: TERMINAL });
    await child.finished();
  }
  expect(loads).toBe(1);
});

test('without free descriptors a start fails with the text of the system, and later ones work', async () => {
  await using warm = await start(['true']);
  await warm.finished();
  const spare = Array.from({ length: 40 }, () => openSync('/dev/null', 'r'));
  limitDescriptors(Math.max(...readdirSync('/proc/self/fd').map(Number), ...spare) + 1);
  try {
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
