/** The same hostility over stdio, where the peer is the parent: the server ends with its input, and leaves nothing. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TEST_SPAWNER } from '../support/spawner.ts';
import { killMarked, newMark, untilMarked } from './support/marked.ts';
import { childrenOf, cpuMs, peakGrowth, writtenBytes } from './support/proc.ts';
import { startParams } from './support/raw-session.ts';
import { CLI, MIB } from './support/server-process.ts';
import { until, untilStill } from './support/until.ts';

let child: ChildProcessWithoutNullStreams;
let received = '';
const MARK = newMark();

beforeEach(() => {
  const spawner = TEST_SPAWNER === undefined ? [] : ['--spawner', TEST_SPAWNER];
  child = spawn(process.execPath, [CLI, 'serve', '--listen', 'stdio', ...spawner], { cwd: '/' });
  received = '';
  child.stdin.on('error', () => {}); // It may be gone before it has read everything; that is what we do to it.
});
afterEach(async () => {
  if (child.exitCode === null) {
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  }
  killMarked(MARK);
});

function listen(): void {
  child.stdout.on('data', (bytes) => {
    received += bytes;
  });
}

async function handshake(): Promise<void> {
  child.stdin.write('{"id":1,"method":"initialize","params":{"clientName":"x"}}\n{"method":"initialized"}\n');
  const [answer] = await once(child.stdout, 'data');
  expect(String(answer)).toMatch(/^\{"id":1,"result":/);
}

const start = (argv: readonly string[]): string =>
  `${JSON.stringify({ id: 2, method: 'process/start', params: startParams('p', argv) })}\n`;

test('a line that never ends is cut at 64 MiB, and the server ends quietly', async () => {
  listen();
  const ended = once(child, 'close');
  const piece = Buffer.alloc(MIB, ' ');
  for (let sent = 0; sent < 65; sent += 1) child.stdin.write(piece);
  expect(await ended).toEqual([0, null]);
  expect(received).toBe('');
});

test('bytes that are not UTF-8 end it quietly, with its processes', async () => {
  await handshake();
  child.stdin.write(start(['sleep', MARK]));
  await untilMarked(MARK, 1);
  const ended = once(child, 'close');
  child.stdin.write(Buffer.from('{"id":"\xff"}\n', 'latin1'));
  child.stdout.resume();
  expect(await ended).toEqual([0, null]);
  await untilMarked(MARK, 0);
});

test('an input that ends in the middle of a line ends it, with its processes', async () => {
  await handshake();
  child.stdin.write(start(['sh', '-c', `trap '' HUP TERM INT; sleep ${MARK} & wait; wait`]));
  await untilMarked(MARK, 1);
  const ended = once(child, 'close');
  child.stdin.end('{"id":3,"method":"proc');
  child.stdout.resume();
  expect(await ended).toEqual([0, null]);
  await untilMarked(MARK, 0);
});

test('a parent that reads nothing while a process floods costs neither memory nor time, and its end is seen', async () => {
  await handshake();
  child.stdout.pause();
  const pid = child.pid ?? 0;
  const growth = await peakGrowth(pid, async () => {
    child.stdin.write(start(['yes', MARK]));
    const [flood = 0] = await until(
      () => childrenOf(pid),
      (children) => children.length > 0,
      'the process',
    );
    await untilStill(() => writtenBytes(flood), 'it to be held');
    const before = cpuMs(pid);
    await new Promise((resolve) => setTimeout(resolve, 300)); // The time itself is what is measured.
    expect(cpuMs(pid) - before).toBeLessThan(100);
  });
  expect(growth).toBeLessThan(32 * MIB);
  const ended = once(child, 'exit');
  child.stdin.end();
  await untilMarked(MARK, 0);
  child.stdout.resume();
  await ended;
});

test('a parent that hangs up both ways in the middle of everything leaves nothing behind', async () => {
  await handshake();
  child.stdin.write(start(['yes', MARK]));
  await untilMarked(MARK, 1);
  const ended = once(child, 'exit');
  child.stdout.destroy();
  child.stdin.destroy();
  expect(await ended).toEqual([0, null]);
  await untilMarked(MARK, 0);
});
