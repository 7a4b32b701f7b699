import { createHash } from 'node:crypto';
import { userInfo } from 'node:os';
import { describe, expect, test } from 'vitest';
import { dead, hasNative, nativeAddon, startNative, statusLine, turn } from '../../test/support/native.ts';
import { requestFor, TEST_PATH, WatchedChild } from '../../test/support/watched-child.ts';
import { ExecError } from '../protocol/errors.ts';
import { createNativeSpawner, type NativeSpawnRequest } from './spawn-native.ts';

const TERMINAL = { rows: 24, cols: 80 };
const start = (argv: string[], rest?: Partial<NativeSpawnRequest>) =>
  startNative(argv, { terminal: TERMINAL, ...rest });
const shell = (script: string, rest?: Partial<NativeSpawnRequest>) => start(['bash', '-c', script], rest);

describe.skipIf(!hasNative)('a terminal', () => {
  test('carries all output, lines end in CR LF, and the end follows the exit', async () => {
    await using child = await shell('echo out; echo err >&2; exit 3');
    expect(await child.finished()).toEqual({ code: 3, signal: null });
    expect(child.text('pty')).toBe('out\r\nerr\r\n');
    expect(child.order.slice(-2)).toEqual(['exited', 'ended']);
  });

  test('controls the session that the child leads', async () => {
    await using child = await shell('ps -o pid=,pgid=,sid=,tpgid= -p $$; tty; test -r /dev/tty && echo controlled');
    await child.finished();
    expect(child.text().trim().split(/\s+/)).toEqual([
      ...Array<string>(4).fill(`${child.child.pid}`),
      expect.stringMatching(/^\/dev\/pts\/\d+$/),
      'controlled',
    ]);
  });

  test('is all the child has open, with every signal at its default', async () => {
    await using other = await start(['sleep', '100']);
    await using files = await start(['ls', '/proc/self/fd']);
    await files.finished();
    expect(files.text().trim().split(/\s+/)).toEqual(['0', '1', '2', '3']); // 3 is the folder ls reads.
    await using status = await start(['cat', '/proc/self/status']);
    await status.finished();
    for (const name of ['SigBlk', 'SigIgn', 'SigCgt'])
      expect(status.text()).toContain(`${name}:\t${'0'.repeat(16)}\r\n`);
    other.child.kill();
  });

  test('adds the login shell to an environment without one and nothing else', async () => {
    await using bare = await start(['/usr/bin/env'], { env: {} });
    await bare.finished();
    expect(bare.text()).toBe(`SHELL=${userInfo().shell}\r\n`);
    await using full = await start(['/usr/bin/env'], { env: { 'A=B': 'b', PWD: '/elsewhere', SHELL: '/bin/zz' } });
    await full.finished();
    expect(full.text()).toBe('A=B=b\r\nPWD=/elsewhere\r\nSHELL=/bin/zz\r\n');
  });

  test('leaves arg0, folder and arguments as they were asked for', async () => {
    const print = 'tr "\\0" "|" </proc/$$/cmdline; pwd';
    await using child = await start(['bash', '-c', print, 'a b'], { arg0: 'my name', cwd: '/usr' });
    await child.finished();
    expect(child.text()).toBe(`my name|-c|${print}|a b|/usr\r\n`);
  });

  test('has the size that was asked for, and it can be changed', async () => {
    const print = 'trap "stty size" WINCH; stty size; while :; do sleep 0.02; done';
    await using child = await shell(print, { terminal: { rows: 30, cols: 100 } });
    await child.until(/30 100\r\n/);
    child.child.resize({ rows: 40, cols: 65_535 });
    await child.until(/40 65535\r\n/);
    child.child.kill();
    await child.finished();
    child.child.resize(TERMINAL);
  });

  test('echoes input, and control-D ends it', async () => {
    await using child = await start(['cat']);
    await child.child.write(Buffer.from('hello\n'));
    await child.until(/hello\r\nhello\r\n/);
    child.child.closeStdin(); // Means nothing here.
    await child.child.write(Buffer.from('more\n'));
    await child.until(/more\r\nmore\r\n/);
    await child.child.write(Buffer.from('\x04'));
    expect(await child.finished()).toEqual({ code: 0, signal: null });
  });

  test('interrupts what runs in the foreground on control-C', async () => {
    await using child = await shell('echo ready; sleep 100');
    await child.until(/ready/);
    await child.child.write(Buffer.from('\x03'));
    expect(await child.finished()).toEqual({ code: null, signal: 'SIGINT' });
    expect(child.text()).toBe('ready\r\n^C');
  });

  test('takes a long input whole and in order', async () => {
    await using child = await shell('stty raw -echo; echo ready; head -c 300000 | sha256sum');
    await child.until(/ready/);
    const parts = Array.from({ length: 30 }, (_, index) => Buffer.alloc(10_000, 65 + index));
    await Promise.all(parts.map((part) => child.child.write(part)));
    await child.finished();
    expect(child.text()).toContain(createHash('sha256').update(Buffer.concat(parts)).digest('hex'));
  });

  test('that takes no input holds up nobody, and its writes end with it', async () => {
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

  test('reports death by signal by name or number', async () => {
    await using named = await shell('echo ready; exec sleep 100');
    await named.until(/ready/);
    named.child.signal('SIGTERM');
    expect(await named.finished()).toEqual({ code: null, signal: 'SIGTERM' });
    await using numbered = await shell('kill -40 $$');
    expect(await numbered.finished()).toEqual({ code: null, signal: 'SIG40' });
  });

  test.each([
    ['a missing folder', { cwd: '/nonexistent-dir' }, 'No such file or directory (os error 2)'],
    ['no PATH', { env: {} }, 'Unable to spawn true because:\nUnable to resolve the PATH'],
    ['an empty program', { argv: [''] }, 'missing program for PTY spawn'],
    ['a long argument', { argv: ['true', 'x'.repeat(200_000)] }, 'Argument list too long (os error 7)'],
  ])('fails the start for %s with its text', async (_case, rest, text) => {
    await expect(start(['true'], { env: { PATH: TEST_PATH }, ...rest })).rejects.toThrow(
      new ExecError('internal', text),
    );
  });
});

describe.skipIf(!hasNative)('the end of a terminal', () => {
  test('comes after the last byte when the child exits while paused, however late it is resumed', async () => {
    await using child = await start(['seq', '1', '1500']);
    child.child.pause();
    expect(await child.exited).toEqual({ code: 0, signal: null });
    for (let turns = 0; turns < 20; turns += 1) await turn();
    expect(child.order).toEqual(['exited']);
    child.child.resume();
    expect(child.order).toEqual(['exited']);
    child.child.pause();
    await turn();
    expect(child.order).toEqual(['exited']);
    child.child.resume();
    await child.ended;
    expect(child.text()).toBe(Array.from({ length: 1_500 }, (_, index) => `${index + 1}\r\n`).join(''));
  });

  test('is not delayed by a background job that keeps it open, not even by one that prints for ever', async () => {
    await using quiet = await shell('trap "" HUP; sleep 100 & echo $!');
    expect(await quiet.finished()).toEqual({ code: 0, signal: null });
    process.kill(Number(quiet.text().trim()), 'SIGKILL');

    await using loud = await shell('trap "" HUP; yes & echo job $!; sleep 0.05');
    expect(await loud.finished()).toEqual({ code: 0, signal: null });
    await dead(Number(/job (\d+)/.exec(loud.text())?.[1])); // It cannot print any more.
  });

  test('is not what happens when the leader closes its descriptors: it may open the terminal again', async () => {
    const leader = 'exec <&- >&- 2>&-; sleep 0.1; exec >/dev/tty; seq 1 20000; echo over';
    await using child = await shell(`echo before; ${leader}`);
    expect(await child.finished()).toEqual({ code: 0, signal: null });
    expect(child.order.slice(-2)).toEqual(['exited', 'ended']);
    expect(child.text()).toMatch(/^before\r\n1\r\n[\s\S]*\r\n20000\r\nover\r\n$/);
    expect(child.bytes().byteLength).toBe(8 + 128_894 + 6);
  });

  test('follows a kill at once, even while paused or with output held', async () => {
    await using printing = await start(['yes']);
    await printing.until(/y/);
    printing.child.pause();
    printing.child.kill();
    expect(await printing.finished()).toEqual({ code: null, signal: 'SIGKILL' });

    await using held = await start(['echo', 'held']);
    held.child.pause();
    await held.exited;
    held.child.kill();
    await held.ended;
    expect(held.text()).toBe('');
  });

  test('is told after begin, also of a child that is long dead', async () => {
    const child = new WatchedChild(
      await createNativeSpawner(nativeAddon()).spawn(requestFor(['echo', 'x'], { terminal: TERMINAL })),
    );
    while (statusLine(`/proc/${child.child.pid}/status`, 'State') !== 'Z (zombie)') await turn();
    child.begin();
    expect(child.order).toEqual([]);
    expect(await child.finished()).toEqual({ code: 0, signal: null });
    expect(child.text()).toBe('x\r\n');
  });
});
