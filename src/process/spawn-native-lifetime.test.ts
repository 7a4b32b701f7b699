/** Who goes when: children when the process that started them dies, handles when a thread ends, memory when all is over. */
import { readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { dead, hasNative, isSanitized, runHost, startHost, WORKER_PRELUDE } from '../../test/support/native.ts';

const worker = (program: string): string => JSON.stringify(`${WORKER_PRELUDE}\n${program}`);

describe.skipIf(!hasNative)('a process that ends', () => {
  test('by SIGKILL takes its children along: on pipes by signal, on a terminal by hang-up', async () => {
    const { node, result } = startHost(`
      const piped = start(['/bin/sleep', '1000']);
      const onTerminal = start(['/bin/sleep', '1000'], { terminal: true });
      print([piped.pid, onTerminal.pid]);`);
    const { value } = await createInterface(node.stdout)[Symbol.asyncIterator]().next();
    const pids: number[] = JSON.parse(value);
    expect(pids).toHaveLength(2);
    node.kill('SIGKILL');
    await Promise.all(pids.map(dead));
    expect(await result).toMatchObject({ signal: 'SIGKILL' });
  });

  test.each([
    ['with a running child that it never began', 'print(start(["/bin/sleep", "1000"], { begin: false }).pid);'],
    ['by process.exit with running children', 'print(start(["/bin/sleep", "1000"]).pid); process.exit(0);'],
    [
      'by process.exit from within an event',
      'const c = shell("echo x; exec sleep 1000", { begin: false }); print(c.pid); c.child.begin(() => process.exit(0));',
    ],
  ])('%s ends cleanly and takes it along', async (_case, program) => {
    const { code, signal, stdout, stderr } = await runHost(program);
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
    await dead(JSON.parse(stdout));
  });

  test('does not end while a child runs', async () => {
    const { code, stdout } = await runHost(`shell('sleep 0.1; exit 7').finished.then(({ status }) => print(status));`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '[7,-1]\n' });
  });

  test('because an event threw says so like any other uncaught exception', async () => {
    const { code, stderr } = await runHost(`
      start(['/bin/echo', 'x'], { begin: false }).child.begin(() => { throw new Error('from an event'); });`);
    expect(code).toBe(1);
    expect(stderr).toContain('Error: from an event');
    const caught = await runHost(`
      process.once('uncaughtException', (error) => print(error.message));
      let count = 0;
      start(['/bin/echo', 'x'], { begin: false }).child.begin(() => { count += 1; if (count === 1) throw new Error('once'); });
      process.on('exit', () => print(count));`);
    expect(caught).toMatchObject({ code: 0, stdout: '"once"\n3\n', stderr: '' });
  });
});

describe.skipIf(!hasNative)('a thread that ends with running children', () => {
  const report = `
    const fs = require('node:fs');
    const children = () => fs.readdirSync('/proc/self/task').map((task) => fs.readFileSync('/proc/self/task/' + task + '/children', 'utf8')).join('');
    const open = () => fs.readdirSync('/proc/self/fd').map((fd) => { try { return fs.readlinkSync('/proc/self/fd/' + fd); } catch { return ''; } })
      .filter((target) => /pidfd|ptmx/.test(target)).length;`;
  const busy = `
    start(['/bin/sleep', '1000']);
    start(['/usr/bin/yes'], { terminal: true });
    start(['/bin/cat'], { inputPipe: true }).child.write(Buffer.alloc(1_000_000));
    start(['/bin/sleep', '1000'], { begin: false });
    require('node:worker_threads').parentPort.postMessage('up');`;

  test.each([
    ['stopped from outside', busy, 'worker.terminate()'],
    ['by itself', `${busy} setImmediate(() => process.exit(0));`, ''],
    ['by an error', `${busy} setImmediate(() => { throw new Error('x'); });`, ''],
  ])('%s leaves no process, no descriptor and no handle', async (_case, program, stop) => {
    const result = await runHost(`
      const { Worker } = require('node:worker_threads');
      ${report}
      const before = open();
      const worker = new Worker(${worker(program)}, { eval: true });
      worker.on('error', () => {});
      worker.once('message', () => { ${stop} });
      worker.once('exit', () => print([children(), open() - before]));`);
    expect(result).toEqual({ code: 0, signal: null, stdout: '["",0]\n', stderr: '' });
  });

  test('does not disturb the children of other threads', async () => {
    const { code, stdout, stderr } = await runHost(`
      const { Worker } = require('node:worker_threads');
      const ours = shell('read line; echo "$line"', { inputPipe: true });
      const worker = new Worker(${worker(busy)}, { eval: true });
      worker.once('message', () => worker.terminate());
      worker.once('exit', async () => {
        ours.child.write(Buffer.from('still here\\n'));
        const { text, status } = await ours.finished;
        print([text, status]);
      });`);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '["still here\\n",[0,-1]]\n', stderr: '' });
  });
});

describe.skipIf(!hasNative)('memory and descriptors', () => {
  test('a running child is kept though nobody holds it', async () => {
    const { code, stdout, stderr } = await runHost(
      `
      const gate = require('node:fs').mkdtempSync('/tmp/farhand-native-') + '/gate';
      require('node:child_process').execFileSync('mkfifo', [gate]);
      (() => {
        let text = '';
        const { child } = shell('read line <' + gate + '; echo "$line"; rm -r $(dirname ' + gate + ')', { begin: false });
        child.begin((event, first, second) => {
          if (event === 0) text += second;
          if (event === 1) print([text, first]);
        });
      })();
      for (let round = 0; round < 5; round += 1) gc();
      setImmediate(() => { gc(); require('node:fs').writeFileSync(gate, 'kept\\n'); });`,
      ['--expose-gc'],
    );
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '["kept\\n",0]\n', stderr: '' });
  });

  test('a child that was dropped before it began is killed and collected', async () => {
    const { code, stdout, stderr } = await runHost(
      `
      const fs = require('node:fs');
      const pid = (() => start(['/bin/sleep', '1000'], { begin: false }).pid)();
      const wait = () => {
        gc();
        if (fs.existsSync('/proc/' + pid)) setImmediate(wait);
        else print(fs.readdirSync('/proc/self/fd').map((fd) => { try { return fs.readlinkSync('/proc/self/fd/' + fd); } catch { return ''; } })
          .filter((target) => target.includes('pidfd')));
      };
      print(fs.existsSync('/proc/' + pid));
      setImmediate(wait);`,
      ['--expose-gc'],
    );
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'true\n[]\n', stderr: '' });
  });

  test('do not grow over hundreds of starts, failed ones included', async () => {
    const count = isSanitized ? 50 : 500;
    const { code, stdout, stderr } = await runHost(
      `
      const fs = require('node:fs');
      const { setImmediate: turn } = require('node:timers/promises');
      const measure = async () => {
        // What was collected is given back a turn later.
        for (let round = 0; round < 5; round += 1) { gc(); await turn(); }
        return [fs.readdirSync('/proc/self/fd').length, process.memoryUsage().rss];
      };
      const startMany = async () => {
        for (let index = 0; index < ${count}; index += 1) {
          await start(['/bin/true'], { terminal: index % 2 === 0, inputPipe: index % 3 === 0 }).finished;
          try { start(['/nonexistent'], { terminal: index % 2 === 0 }); } catch {}
        }
      };
      (async () => {
        await startMany();
        const [descriptors, bytes] = await measure();
        await startMany();
        const [descriptorsNow, bytesNow] = await measure();
        print([descriptorsNow - descriptors, bytesNow - bytes]);
      })();`,
      ['--expose-gc'],
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [descriptors, bytes] = JSON.parse(stdout);
    expect(descriptors).toBe(0);
    // A buffer lost with each would be ten times that. Sanitizers keep freed memory, but report what is lost.
    if (!isSanitized) expect(bytes).toBeLessThan(5_000_000);
  });

  test('starts work in a process that closed its standard streams', async () => {
    const { code, stdout, stderr } = await runHost(`
      const fs = require('node:fs');
      const report = fs.mkdtempSync('/tmp/farhand-native-') + '/report';
      print(report);
      for (const fd of [0, 1, 2]) fs.closeSync(fd);
      (async () => {
        const piped = await shell('cat; echo out; echo err >&2; ls /proc/self/fd').finished;
        const onTerminal = await shell('echo out; ls /proc/self/fd', { terminal: true }).finished;
        fs.writeFileSync(report, JSON.stringify([piped.text, onTerminal.text]));
      })();`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const report: string = JSON.parse(stdout);
    const [piped, onTerminal] = JSON.parse(readFileSync(report, 'utf8'));
    rmSync(dirname(report), { recursive: true });
    expect(
      piped
        .split('\n')
        .sort((a: string, b: string) => (a < b ? -1 : 1))
        .join(' '),
    ).toBe(' 0 1 2 3 err out');
    expect(onTerminal.trim().split(/\s+/)).toEqual(['out', '0', '1', '2', '3']);
  });
});
