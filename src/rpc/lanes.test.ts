import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Deferred, deferred } from '../util/deferred.ts';
import { type Job, Lanes, type Slot } from './lanes.ts';

type Running = { slot: Slot; done: Deferred<void> };

function probe() {
  const started: string[] = [];
  const cancelled: string[] = [];
  const running = new Map<string, Running>();
  const job = (tag: string): Job => ({
    tag,
    weight: 1,
    run: (slot) => {
      started.push(tag);
      const done = deferred();
      running.set(tag, { slot, done });
      return done.promise;
    },
    cancelled: () => cancelled.push(tag),
  });
  const get = (tag: string): Running => {
    const found = running.get(tag);
    if (!found) throw new Error(`${tag} is not running`);
    return found;
  };
  const finish = async (tag: string): Promise<void> => {
    get(tag).done.resolve();
    running.delete(tag);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { started, cancelled, job, finish, leave: (tag: string) => get(tag).slot.leave() };
}

test('ordinary jobs run one at a time in arrival order', async () => {
  const lanes = new Lanes({ width: 1 });
  const { started, job, finish } = probe();
  for (const tag of ['a', 'b', 'c']) lanes.add('ordinary', job(tag));
  expect(started).toEqual(['a']);
  await finish('a');
  expect(started).toEqual(['a', 'b']);
  await finish('b');
  expect(started).toEqual(['a', 'b', 'c']);
});

test('a job that leaves its lane lets the next one start', async () => {
  const lanes = new Lanes({ width: 1 });
  const { started, job, leave, finish } = probe();
  lanes.add('ordinary', job('waits'));
  lanes.add('ordinary', job('next'));
  leave('waits');
  expect(started).toEqual(['waits', 'next']);
  lanes.add('ordinary', job('third'));
  await finish('waits');
  expect(started, 'finishing after leaving frees nothing twice').toEqual(['waits', 'next']);
});

test('control jobs do not wait for ordinary ones', () => {
  const lanes = new Lanes({ width: 1 });
  const { started, job } = probe();
  lanes.add('ordinary', job('slow'));
  lanes.add('control', job('kill'));
  expect(started).toEqual(['slow', 'kill']);
});

test('beyond the waiting limit a job keeps its place in the lane', () => {
  const lanes = new Lanes({ width: 1, maxWaiting: 1 });
  const { started, job, leave } = probe();
  for (const tag of ['a', 'b', 'c']) lanes.add('ordinary', job(tag));
  leave('a');
  leave('b');
  expect(started).toEqual(['a', 'b']);
});

test('a queued job can be cancelled, a running one cannot', () => {
  const lanes = new Lanes({ width: 1 });
  const { cancelled, job } = probe();
  lanes.add('ordinary', job('runs'));
  lanes.add('ordinary', job('queued'));
  expect(lanes.cancelQueued((tag) => tag === 'runs', new Error('no'))).toBe(false);
  expect(lanes.cancelQueued((tag) => tag === 'queued', new Error('no'))).toBe(true);
  expect(cancelled).toEqual(['queued']);
});

test('a full queue is told and has room again', async () => {
  const lanes = new Lanes({ width: 1, maxQueued: 2 });
  const { job, finish } = probe();
  for (const tag of ['a', 'b', 'c']) lanes.add('ordinary', job(tag));
  expect(lanes.full).toBe(true);
  const room = lanes.room();
  await finish('a');
  await room;
  expect(lanes.full).toBe(false);
});

test('a few heavy jobs fill the queue as well as many light ones', () => {
  const lanes = new Lanes({ width: 1 });
  const { job } = probe();
  lanes.add('ordinary', job('runs'));
  lanes.add('ordinary', { ...job('heavy'), weight: 64 * 1024 * 1024 });
  expect(lanes.full).toBe(true);
});

test('thousands of quick jobs behind a slow one do not exhaust the stack', async () => {
  const lanes = new Lanes({ width: 1, maxQueued: 100_000 });
  const { job, finish } = probe();
  let ran = 0;
  const count = (): undefined => {
    ran += 1;
  };
  lanes.add('ordinary', job('slow'));
  for (let index = 0; index < 50_000; index += 1) {
    lanes.add('ordinary', { tag: index, weight: 1, cancelled: () => {}, run: count });
  }
  await finish('slow');
  expect(ran).toBe(50_000);
});

test('whatever leaves and finishes when, every job starts once, in order, and never more than the width at a time', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.constantFrom('add', 'finish', 'leave'), { maxLength: 60 }),
      async (width, steps) => {
        const lanes = new Lanes({ width, maxWaiting: 4 });
        const { started, job, finish, leave } = probe();
        const finished = new Set<string>();
        const left = new Set<string>();
        let added = 0;
        for (const step of steps) {
          const live = started.filter((tag) => !finished.has(tag));
          const oldest = live[0];
          if (step === 'add') lanes.add('ordinary', job(String(added++)));
          else if (oldest !== undefined && step === 'finish') {
            finished.add(oldest);
            left.delete(oldest);
            await finish(oldest);
          } else if (oldest !== undefined) {
            leave(oldest);
            if (left.size < 4) left.add(oldest);
          }
          const inLane = started.filter((tag) => !finished.has(tag) && !left.has(tag));
          expect(inLane.length).toBeLessThanOrEqual(width);
          expect(inLane.length, 'no place is left empty while a job waits').toBe(
            Math.min(width, added - finished.size - left.size),
          );
          expect(started).toEqual(Array.from({ length: started.length }, (_, index) => String(index)));
        }
      },
    ),
  );
});
