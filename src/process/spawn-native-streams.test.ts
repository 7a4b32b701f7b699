import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  hasNative,
  nativeAddon,
  shellNative as shell,
  startNative as start,
  statusLine,
  turn,
} from '../../test/support/native.ts';
import { requestFor, WatchedChild } from '../../test/support/watched-child.ts';
import { createNativeSpawner } from './spawn-native.ts';

const numbers = (count: number): string => `${Array.from({ length: count }, (_, index) => index + 1).join('\n')}\n`;

describe.skipIf(!hasNative)('input', () => {
  test('arrives in order, then the end of file', async () => {
    await using child = await start(['cat'], { stdin: 'pipe' });
    const parts = Array.from({ length: 50 }, (_, index) => Buffer.alloc(index * 1_000, index));
    const written = parts.map((part) => child.child.write(part));
    child.child.closeStdin();
    expect(await child.finished()).toEqual({ code: 0, signal: null });
    expect(child.bytes('stdout').equals(Buffer.concat(parts))).toBe(true);
    await Promise.all(written);
  });

  test('of 16 MiB arrives whole', async () => {
    await using child = await start(['sha256sum'], { stdin: 'pipe' });
    const bytes = Buffer.alloc(16 * 1_048_576, 'farhand ');
    await child.child.write(bytes);
    child.child.closeStdin();
    await child.finished();
    expect(child.text()).toContain(createHash('sha256').update(bytes).digest('hex'));
  });

  test('written before begin is not forgotten', async () => {
    const child = new WatchedChild(
      await createNativeSpawner(nativeAddon()).spawn(requestFor(['wc', '-c'], { stdin: 'pipe' })),
    );
    const written = child.child.write(Buffer.alloc(300_000));
    child.child.closeStdin();
    await turn();
    child.begin();
    await written;
    await child.finished();
    expect(child.text().trim()).toBe('300000');
  });

  test('that is never read is answered when the child exits', async () => {
    await using child = await start(['sleep', '100'], { stdin: 'pipe' });
    let isAnswered = false;
    const stuck = child.child.write(Buffer.alloc(4_000_000, 'x')).then(() => {
      isAnswered = true;
    });
    const behind = child.child.write(Buffer.from('y'));
    await using other = await start(['true']);
    await other.finished();
    expect(isAnswered).toBe(false);
    child.child.signal('SIGTERM');
    await Promise.all([stuck, behind]);
    expect(await child.finished()).toEqual({ code: null, signal: 'SIGTERM' });
    await child.child.write(Buffer.from('late'));
  });

  test('that is never read is answered when the child exits, even if a descendant keeps the pipe', async () => {
    await using child = await start(['bash', '-c', 'exec 3<&0; sleep 100 <&3 & read line; exit 5'], { stdin: 'pipe' });
    const stuck = child.child.write(Buffer.concat([Buffer.from('line\n'), Buffer.alloc(4_000_000, 'x')]));
    expect(await child.exited).toEqual({ code: 5, signal: null });
    await stuck;
    expect(child.order).not.toContain('ended');
  });

  test('to a child that closed its end is dropped, and no signal kills the server', async () => {
    await using child = await shell('exec 0<&-; echo closed; sleep 100', { stdin: 'pipe' });
    await child.until(/closed/);
    await child.child.write(Buffer.from('x'));
    await child.child.write(Buffer.alloc(1_000_000));
    expect(child.order).not.toContain('exited');
  });
});

describe.skipIf(!hasNative)('output', () => {
  test('comes in pieces of at most 64 KiB and is complete', async () => {
    await using child = await start(['seq', '1', '200000']);
    await child.finished();
    expect(child.text() === numbers(200_000)).toBe(true);
    expect(Math.max(...child.chunkSizes)).toBeLessThanOrEqual(65_536);
  });

  test('of a program that prints line by line comes in few pieces', async () => {
    const printer = '$| = 1; for (1..20000) { print "line $_\\n"; for (my $i = 0; $i < 200; $i++) {} }';
    await using child = await start(['perl', '-e', printer]);
    await child.finished();
    expect(child.text().split('\n')).toHaveLength(20_001);
    expect(child.chunkSizes.length).toBeLessThan(2_000);
  });

  test('does not come before begin, not even from a child that is long dead', async () => {
    const child = await createNativeSpawner(nativeAddon()).spawn(requestFor(['echo', 'early']));
    while (statusLine(`/proc/${child.pid}/status`, 'State') !== 'Z (zombie)') await turn();
    const watched = new WatchedChild(child);
    watched.begin();
    expect(watched.order).toEqual([]);
    expect(await watched.finished()).toEqual({ code: 0, signal: null });
    expect(watched.text()).toBe('early\n');
    expect(watched.order[0]).toBe('output');
  });

  test('is held by a pause before begin', async () => {
    const watched = new WatchedChild(await createNativeSpawner(nativeAddon()).spawn(requestFor(['echo', 'x'])));
    watched.child.pause();
    watched.begin();
    await watched.exited;
    await turn();
    expect(watched.order).toEqual(['exited']);
    watched.child.resume();
    await watched.finished();
    expect(watched.text()).toBe('x\n');
  });

  test('waits while paused, also over the exit, and nothing is lost', async () => {
    await using child = await shell('seq 1 30000; echo done >&2');
    child.onOutput = () => child.child.pause();
    while (!child.order.includes('ended')) {
      const before = child.chunkSizes.length;
      await turn();
      await turn();
      expect(child.chunkSizes.length - before).toBeLessThanOrEqual(2);
      child.child.resume();
    }
    await child.finished();
    expect(child.text('stdout')).toBe(numbers(30_000));
    expect(child.text('stderr')).toBe('done\n');
  });

  test('a paused child blocks and goes on when resumed', async () => {
    await using child = await start(['yes']);
    await child.until(/y/);
    child.child.pause();
    const written = (): string => statusLine(`/proc/${child.child.pid}/io`, 'wchar');
    // It has nothing else to sleep for than a full pipe.
    while (statusLine(`/proc/${child.child.pid}/status`, 'State') !== 'S (sleeping)') await turn();
    const stopped = written();
    for (let turns = 0; turns < 200; turns += 1) await turn();
    expect(written()).toBe(stopped);
    const pieces = child.chunkSizes.length;
    child.child.resume();
    while (written() === stopped) await turn();
    expect(child.chunkSizes.length).toBeGreaterThan(pieces);
  });

  test('never comes while paused and all of it comes, whenever it is paused and resumed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom('pause', 'resume', 'turn'), { maxLength: 40 }), async (plan) => {
        await using child = await start(['seq', '1', '20000']);
        let isPaused = false;
        child.onOutput = () => expect(isPaused).toBe(false);
        for (const step of plan) {
          if (step === 'turn') await turn();
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

  test('ends before the exit when the child closes both streams', async () => {
    await using child = await shell('echo last; exec >&- 2>&-; read line', { stdin: 'pipe' });
    await child.ended;
    expect(child.order).toEqual(['output', 'ended']);
    child.child.closeStdin();
    expect(await child.finished()).toEqual({ code: 1, signal: null });
  });

  test('of a descendant may follow the exit; the end comes after the last holder of the pipe', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'farhand-native-'));
    const gate = join(folder, 'gate');
    execFileSync('mkfifo', [gate]);
    await using child = await shell(`(read go <${gate}; echo late) & echo first`);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.text()).toBe('first\n');
    await turn();
    expect(child.order).not.toContain('ended');
    writeFileSync(gate, 'go\n');
    await child.ended;
    expect(child.text()).toBe('first\nlate\n');
    rmSync(folder, { recursive: true });
  });
});
