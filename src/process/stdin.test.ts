import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_QUEUED_WRITE_BYTES, MAX_QUEUED_WRITES, MAX_REMEMBERED_WRITE_IDS } from '../limits.ts';
import { ExecError } from '../protocol/errors.ts';
import { type Deferred, deferred } from '../util/deferred.ts';
import { type StdinLimits, StdinQueue } from './stdin.ts';

/** A child that takes a write when told to. */
class FakeChild {
  readonly received: (string | 'EOF')[] = [];
  pending: Deferred<void> | undefined;

  write(bytes: Uint8Array): Promise<void> {
    expect(this.pending, 'one write at a time').toBeUndefined();
    expect(this.received).not.toContain('EOF');
    this.received.push(Buffer.from(bytes).toString());
    this.pending = deferred();
    return this.pending.promise;
  }

  closeStdin(): void {
    this.received.push('EOF');
  }

  /** Takes the write under way and lets the queue go on. */
  async take(): Promise<void> {
    const taken = this.pending;
    this.pending = undefined;
    taken?.resolve();
    await Promise.resolve();
    await Promise.resolve();
  }

  async takeAll(): Promise<string[]> {
    while (this.pending) await this.take();
    return this.received;
  }
}

function queueWith(limits: Partial<StdinLimits> = {}): { child: FakeChild; queue: StdinQueue } {
  const child = new FakeChild();
  const queue = new StdinQueue(child, { queuedWrites: 2, queuedBytes: 1_000, rememberedIds: 4, ...limits });
  return { child, queue };
}

const text = (value: string): Uint8Array => Buffer.from(value);

/** Writes without looking at the answer. */
function offer(queue: StdinQueue, ...ids: string[]): void {
  for (const id of ids) void queue.write(id, text(id.slice(-1)));
}

const FAILED = new ExecError('internal', 'failed to write to process stdin');

/** `waiting` for a promise that has not settled. */
async function stateOf(answer: unknown): Promise<unknown> {
  return Promise.race([answer, Promise.resolve().then(() => 'waiting')]);
}

test('writes are accepted at once while there is room and reach the child in order', async () => {
  const { child, queue } = queueWith();
  expect(queue.write('1', text('a'))).toBe('accepted');
  expect(queue.write('2', text('b'))).toBe('accepted');
  expect(child.received).toEqual(['a']);
  expect(await child.takeAll()).toEqual(['a', 'b']);
  expect(queue).toMatchObject({ queuedWrites: 0, queuedBytes: 0 });
});

test('a write waits for room and is accepted when the child takes one', async () => {
  const { child, queue } = queueWith();
  offer(queue, 'a', 'b');
  const third = queue.write('3', text('cc'));
  const fourth = queue.write('4', text('d'));
  expect(queue.waitingBytes).toBe(3);
  expect(await stateOf(third)).toBe('waiting');
  await child.take();
  expect(await stateOf(third)).toBe('accepted');
  expect(await stateOf(fourth)).toBe('waiting');
  expect(await child.takeAll()).toEqual(['a', 'b', 'cc', 'd']);
  expect(await fourth).toBe('accepted');
  expect(queue.waitingBytes).toBe(0);
});

test('bytes are a limit as well, and any single write fits', async () => {
  const { child, queue } = queueWith({ queuedWrites: 100, queuedBytes: 4 });
  expect(queue.write('1', text('abc'))).toBe('accepted');
  expect(queue.write('2', text('defghi'))).toBe('accepted');
  expect(await stateOf(queue.write('3', text('j')))).toBe('waiting');
  expect(await child.takeAll()).toEqual(['abc', 'defghi', 'j']);
});

test('a repeated id is accepted and not written again, also while it waits and after it was taken', async () => {
  const { child, queue } = queueWith();
  offer(queue, 'a', 'b');
  const waiting = queue.write('3', text('c'));
  expect(queue.write('3', text('c'))).toBe(waiting);
  expect(queue.write('a', text('other'))).toBe('accepted');
  expect(await child.takeAll()).toEqual(['a', 'b', 'c']);
  expect(queue.write('3', text('c'))).toBe('accepted');
  expect(await child.takeAll()).toEqual(['a', 'b', 'c']);
});

test('only the last ids are remembered, first in first out', async () => {
  const { child, queue } = queueWith({ rememberedIds: 2 });
  for (const id of ['1', '2', '3', '2', '1']) {
    offer(queue, id);
    await child.takeAll();
  }
  expect(child.received).toEqual(['1', '2', '3', '1']);
});

test('long ids that differ at the end are different ids', async () => {
  const { child, queue } = queueWith();
  const long = 'x'.repeat(10_000);
  offer(queue, `${long}1`, `${long}2`, `${long}1`);
  expect(await child.takeAll()).toEqual(['1', '2']);
});

test('end of file comes after everything written before, waiting writes included', async () => {
  const { child, queue } = queueWith();
  offer(queue, '1', '2', '3');
  queue.closeStdin();
  queue.closeStdin();
  expect(queue.write('4', text('late'))).toBe('accepted');
  expect(await child.takeAll()).toEqual(['1', '2', '3', 'EOF']);
});

test('end of file on an idle stdin is sent at once', () => {
  const { child, queue } = queueWith();
  queue.closeStdin();
  expect(child.received).toEqual(['EOF']);
});

test('when the child is gone, what waits and what comes is accepted and dropped', async () => {
  const { child, queue } = queueWith();
  offer(queue, '1', '2');
  const waiting = queue.write('3', text('3'));
  queue.childGone();
  expect(await waiting).toBe('accepted');
  expect(queue.write('4', text('4'))).toBe('accepted');
  expect(await child.takeAll()).toEqual(['1']);
  expect(queue).toMatchObject({ queuedWrites: 0, queuedBytes: 0, waitingBytes: 0 });
});

test('after a termination new writes fail, what waits fails and remembered ids are accepted', async () => {
  const { child, queue } = queueWith();
  offer(queue, '1', '2');
  const waiting = queue.write('3', text('3'));
  queue.fail();
  await expect(waiting).rejects.toThrow(FAILED);
  expect(queue.write('2', text('2'))).toBe('accepted');
  expect(() => queue.write('3', text('3'))).toThrow(FAILED);
  expect(() => queue.write('4', text('4'))).toThrow(FAILED);
  queue.childGone();
  expect(() => queue.write('5', text('5'))).toThrow(FAILED);
  expect(await child.takeAll()).toEqual(['1']);
});

test('the limits are those of the engine unless told otherwise', async () => {
  const many = new StdinQueue(new FakeChild());
  for (let id = 0; id < MAX_QUEUED_WRITES; id += 1) expect(many.write(`${id}`, text('x'))).toBe('accepted');
  expect(await stateOf(many.write('next', text('x')))).toBe('waiting');

  const large = new StdinQueue(new FakeChild());
  expect(large.write('1', new Uint8Array(MAX_QUEUED_WRITE_BYTES))).toBe('accepted');
  expect(await stateOf(large.write('2', text('x')))).toBe('waiting');

  const child = new FakeChild();
  const long = new StdinQueue(child);
  for (let id = 0; id <= MAX_REMEMBERED_WRITE_IDS; id += 1) {
    offer(long, `${id}`);
    await child.take();
  }
  expect(child.received).toHaveLength(MAX_REMEMBERED_WRITE_IDS + 1);
  offer(long, '1');
  expect(child.received).toHaveLength(MAX_REMEMBERED_WRITE_IDS + 1);
  offer(long, '0');
  expect(child.received).toHaveLength(MAX_REMEMBERED_WRITE_IDS + 2);
});

type Step = { type: 'write'; id: number } | { type: 'take' } | { type: 'close' } | { type: 'gone' } | { type: 'fail' };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ type: fc.constant('write'), id: fc.nat(12) }) },
  { weight: 8, arbitrary: fc.constant<Step>({ type: 'take' }) },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ type: 'close' }, { type: 'gone' }, { type: 'fail' }) },
);

/** What each step should do, in the plainest words: one list of everything that was ever asked for. */
class Model {
  readonly asked: string[] = [];
  taken = 0;
  end: 'close' | 'gone' | 'fail' | undefined;
  /** Bytes that may reach the child are those asked for before this many. */
  cutOff = Number.POSITIVE_INFINITY;

  get accepted(): number {
    return Math.min(this.asked.length, this.taken + 2);
  }
}

test('whatever the interleaving, accepted bytes reach the child exactly once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 60, size: 'max' }), async (steps) => {
      const { child, queue } = queueWith({ rememberedIds: 1_000 });
      const model = new Model();
      const answers = new Map<string, 'accepted' | Promise<string>>();
      for (const step of steps) {
        if (step.type === 'write') {
          const id = `w${step.id}`;
          const isKnown = answers.has(id);
          try {
            const answer = queue.write(id, text(id));
            const settled = typeof answer === 'string' ? answer : answer.catch(() => 'failed');
            if (!isKnown) {
              answers.set(id, settled);
              if (model.end === undefined) model.asked.push(id);
            }
          } catch {
            expect(model.end).toBe('fail');
          }
        } else if (step.type === 'take') {
          if (child.pending && (model.end === undefined || model.end === 'close')) model.taken += 1;
          await child.take();
        } else if (step.type === 'close') {
          queue.closeStdin();
          model.end ??= 'close';
        } else {
          if (model.end !== 'fail' && model.end !== 'gone') model.cutOff = child.received.length;
          if (step.type === 'gone') queue.childGone();
          else queue.fail();
          if (model.end !== 'fail') model.end = step.type;
        }
        expect(queue.queuedWrites).toBeLessThanOrEqual(2);
        if (model.cutOff === Number.POSITIVE_INFINITY) {
          expect(queue.queuedWrites).toBe(model.accepted - model.taken);
          for (const [index, id] of model.asked.entries()) {
            expect(await stateOf(answers.get(id))).toBe(index < model.accepted ? 'accepted' : 'waiting');
          }
        }
      }
      await child.takeAll();
      const expected = model.asked.slice(0, model.cutOff);
      const received = child.received.filter((value) => value !== 'EOF');
      expect(received).toEqual(
        model.cutOff === Number.POSITIVE_INFINITY ? model.asked : expected.slice(0, received.length),
      );
      expect(received.length).toBeLessThanOrEqual(model.cutOff);
      if (model.end === 'close') expect(child.received.at(-1)).toBe('EOF');
      for (const answer of answers.values()) expect(['accepted', 'failed']).toContain(await stateOf(answer));
    }),
    { numRuns: 400 },
  );
});
