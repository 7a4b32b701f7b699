import { expect, test } from 'vitest';
import { MemoryOutputLog } from './output-log.ts';
import { Process, type ProcessEvent } from './process.ts';
import type { SpawnEvents, SpawnedChild } from './spawner.ts';

const REQUEST = { argv: ['x'], cwd: '/', stdin: 'none', terminal: undefined } as const;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = new AbortController().signal;

function scene() {
  const events: ProcessEvent[] = [];
  const calls: string[] = [];
  let spawn: SpawnEvents | undefined;
  const child: SpawnedChild = {
    pid: 1,
    begin: (sink) => {
      spawn = sink;
    },
    pause: () => calls.push('pause'),
    resume: () => calls.push('resume'),
    write: () => Promise.resolve(),
    closeStdin: () => calls.push('closeStdin'),
    signal: (name) => calls.push(name),
    kill: () => calls.push('kill'),
    resize: () => calls.push('resize'),
  };
  const log = new MemoryOutputLog({ retainBytes: 1e6, retainChunks: 1_000 });
  const process = new Process({
    id: 'p',
    child,
    request: REQUEST,
    log,
    timeoutMs: undefined,
    idleTimeoutMs: undefined,
    onEvent: (_process, event) => events.push(event),
  });
  process.begin();
  if (!spawn) throw new Error('nothing began');
  return { process, log, events, calls, spawn };
}

test('a read is cut into chunks of at most 8192 bytes that share its memory', async () => {
  const { events, log, spawn } = scene();
  const read = Buffer.alloc(20_000, 1);
  spawn.output('stdout', read);
  expect(events.map((event) => event.type === 'output' && event.bytes.length)).toEqual([8_192, 8_192, 3_616]);
  const chunks = await log.read(0, undefined);
  expect(new Set(chunks.map(({ bytes }) => bytes.buffer))).toEqual(new Set([read.buffer]));
});

test('a small read of a large buffer does not keep the buffer', async () => {
  const { log, spawn } = scene();
  const buffer = Buffer.alloc(65_536, 2);
  spawn.output('stdout', buffer.subarray(0, 100));
  const [chunk] = await log.read(0, undefined);
  expect(chunk?.bytes.buffer.byteLength).toBe(100);
});

test('the child is paused by the first who asks and resumed by the last', () => {
  const { process, calls } = scene();
  process.pause('congested');
  process.pause('flow');
  process.pause('flow');
  process.resume('congested');
  process.resume('detached');
  expect(calls).toEqual(['pause']);
  process.resume('flow');
  expect(calls).toEqual(['pause', 'resume']);
});

test('closed comes once, after exit and end in either order', () => {
  for (const order of [
    ['exit', 'end'],
    ['end', 'exit'],
  ]) {
    const { events, spawn } = scene();
    for (const step of order) {
      if (step === 'exit') spawn.exited({ code: 3, signal: null });
      else spawn.ended();
    }
    expect(events.map(({ type, seq }) => [type, seq])).toEqual([
      ['exited', 1],
      ['closed', 2],
    ]);
  }
});

test('exit codes: as they are, 128 plus the signal, numbers for signals without a name, -1 when unknown', () => {
  const codes = [
    { code: 44, signal: null },
    { code: null, signal: 'SIGTERM' },
    { code: null, signal: 'SIG34' },
    { code: null, signal: null },
  ].map((status) => {
    const { process, spawn } = scene();
    spawn.exited(status);
    return process.state.type === 'exited' ? process.state.exit.exitCode : undefined;
  });
  expect(codes).toEqual([44, 143, 162, -1]);
});

test('a waiting read is woken by output, by the exit, by time and by its own end', async () => {
  const { process, spawn } = scene();
  let waits = 0;
  const read = (afterSeq: number, waitMs = 60_000, signal = never) =>
    process.read({ afterSeq, maxBytes: undefined, waitMs }, signal, () => {
      waits += 1;
    });
  const first = read(0);
  await turn();
  spawn.output('stdout', Buffer.from('x'));
  expect((await first).chunks).toHaveLength(1);
  const second = read(1);
  await turn();
  spawn.exited({ code: 0, signal: null });
  expect((await second).state.type).toBe('exited');
  expect((await read(2, 1)).chunks).toEqual([]);
  const abort = new AbortController();
  const third = read(2, 60_000, abort.signal);
  await turn();
  abort.abort(new Error('gone'));
  await expect(third).rejects.toThrow('gone');
  expect(waits).toBe(4);
});
