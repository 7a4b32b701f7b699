import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Chunk, MemoryOutputLog, type OutputMode } from './output-log.ts';

const bytesOf = (length: number, fill = 0): Uint8Array => new Uint8Array(length).fill(fill);

function logWith(sizes: number[], limits = { retainBytes: 1_000, retainChunks: 1_000 }): MemoryOutputLog {
  const log = new MemoryOutputLog(limits);
  sizes.forEach((size, index) => {
    log.append(index + 1, 'stdout', bytesOf(size));
  });
  return log;
}

const seqs = (chunks: Chunk[]): number[] => chunks.map(({ seq }) => seq);

test('a read gives what comes after a seq, with its stream and bytes', async () => {
  const log = new MemoryOutputLog({ retainBytes: 100, retainChunks: 100 });
  log.append(1, 'stdout', Uint8Array.of(1, 2));
  log.append(4, 'stderr', Uint8Array.of(3));
  expect(await log.read(0, undefined)).toEqual([
    { seq: 1, stream: 'stdout', bytes: Uint8Array.of(1, 2) },
    { seq: 4, stream: 'stderr', bytes: Uint8Array.of(3) },
  ]);
  expect(seqs(await log.read(1, undefined))).toEqual([4]);
  expect(seqs(await log.read(3, undefined))).toEqual([4]);
  expect(seqs(await log.read(4, undefined))).toEqual([]);
  expect(seqs(await log.read(2 ** 63, undefined))).toEqual([]);
});

test('maxBytes always gives one whole chunk, stops before one too many and after it is reached', async () => {
  const log = logWith([4, 4, 2]);
  expect(seqs(await log.read(0, 0))).toEqual([1]);
  expect(seqs(await log.read(0, 1))).toEqual([1]);
  expect(seqs(await log.read(0, 7))).toEqual([1]);
  expect(seqs(await log.read(0, 8))).toEqual([1, 2]);
  expect(seqs(await log.read(0, 9))).toEqual([1, 2]);
  expect(seqs(await log.read(0, 10))).toEqual([1, 2, 3]);
  expect(seqs(await log.read(1, 6))).toEqual([2, 3]);
});

test('hold keeps what was not confirmed, whatever the limits', async () => {
  const log = logWith([4, 4, 4], { retainBytes: 5, retainChunks: 10 });
  expect(log).toMatchObject({ heldBytes: 12, unconfirmedBytes: 12, firstSeq: 1, lostBytes: 0 });
  log.confirm(2);
  expect(log).toMatchObject({ heldBytes: 4, heldChunks: 1, unconfirmedBytes: 4, firstSeq: 3, lostBytes: 8 });
  log.confirm(1);
  expect(log.confirmedSeq).toBe(2);
});

test('drain drops the oldest whole chunks while a limit is exceeded, as soon as it is set', async () => {
  const log = logWith([4, 4, 4], { retainBytes: 8, retainChunks: 10 });
  log.mode = 'drain';
  expect(seqs(await log.read(0, undefined))).toEqual([2, 3]);
  expect(log).toMatchObject({ lostBytes: 4, lostChunks: 1, unconfirmedBytes: 8 });
  log.append(4, 'stdout', bytesOf(1));
  expect(seqs(await log.read(0, undefined))).toEqual([3, 4]);
});

test('the number of chunks is a limit of its own', async () => {
  const log = logWith([0, 0, 0, 0], { retainBytes: 100, retainChunks: 2 });
  expect(log.heldChunks).toBe(4);
  log.mode = 'drain';
  expect(log).toMatchObject({ heldChunks: 2, firstSeq: 3, lostBytes: 0, lostChunks: 2 });
});

test('a flood leaves the newest chunks that fit in the retained bytes', async () => {
  const log = new MemoryOutputLog({ retainBytes: 1_048_576, retainChunks: 50_000 });
  log.mode = 'drain';
  const sizes = [...Array<number>(366).fill(8_192), 1_728];
  sizes.forEach((size, index) => {
    log.append(index + 1, 'stdout', bytesOf(size));
  });
  expect(log.heldBytes).toBeLessThanOrEqual(1_048_576);
  expect(log.heldBytes + log.lostBytes).toBe(3_000_000);
  expect(log.heldChunks).toBe(128);
});

test('each operation that drops something says so once', () => {
  const evicted: number[] = [];
  const log = new MemoryOutputLog({ retainBytes: 3, retainChunks: 9, onEvicted: (bytes) => evicted.push(bytes) });
  for (const seq of [1, 2, 3]) log.append(seq, 'stdout', bytesOf(2));
  expect(evicted).toEqual([]);
  log.confirm(2);
  log.mode = 'drain';
  expect(evicted).toEqual([4]);
  log.append(4, 'stdout', bytesOf(3));
  expect(evicted).toEqual([4, 2]);
});

test('a seq that does not rise is refused', () => {
  const log = logWith([1]);
  expect(() => log.append(1, 'stdout', bytesOf(1))).toThrow(RangeError);
});

test('a long life costs no memory for what was dropped', async () => {
  const log = new MemoryOutputLog({ retainBytes: 10, retainChunks: 100 });
  log.mode = 'drain';
  for (let seq = 1; seq <= 100_000; seq += 1) log.append(seq, 'stdout', bytesOf(1));
  expect(log).toMatchObject({ heldChunks: 10, firstSeq: 99_991, lostChunks: 99_990, unconfirmedBytes: 10 });
  expect(seqs(await log.read(99_998, undefined))).toEqual([99_999, 100_000]);
});

/** The same rules over a plain array, one scan at a time. */
class NaiveLog {
  chunks: Chunk[] = [];
  mode: OutputMode = 'hold';
  confirmedSeq = 0;
  lostBytes = 0;
  lostChunks = 0;
  readonly limits: { retainBytes: number; retainChunks: number };

  constructor(limits: { retainBytes: number; retainChunks: number }) {
    this.limits = limits;
  }

  bytes(chunks: Chunk[]): number {
    return chunks.reduce((sum, chunk) => sum + chunk.bytes.byteLength, 0);
  }

  evict(): void {
    for (let oldest = this.chunks[0]; oldest; oldest = this.chunks[0]) {
      const over = this.bytes(this.chunks) > this.limits.retainBytes || this.chunks.length > this.limits.retainChunks;
      if (!over || (this.mode === 'hold' && oldest.seq > this.confirmedSeq)) return;
      this.chunks.shift();
      this.lostBytes += oldest.bytes.byteLength;
      this.lostChunks += 1;
    }
  }

  read(afterSeq: number, maxBytes: number | undefined): Chunk[] {
    const taken: Chunk[] = [];
    for (const chunk of this.chunks.filter(({ seq }) => seq > afterSeq)) {
      if (maxBytes !== undefined && taken.length > 0 && this.bytes([...taken, chunk]) > maxBytes) break;
      taken.push(chunk);
      if (maxBytes !== undefined && this.bytes(taken) >= maxBytes) break;
    }
    return taken;
  }
}

type Step =
  | { type: 'append'; gap: number; size: number }
  | { type: 'confirm'; seq: number }
  | { type: 'mode'; mode: OutputMode }
  | { type: 'read'; afterSeq: number; maxBytes: number | undefined };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constant('append'), gap: fc.nat(2), size: fc.nat(6) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('confirm'), seq: fc.nat(120) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('mode'), mode: fc.constantFrom('hold', 'drain') }) },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant('read'),
        afterSeq: fc.nat(120),
        maxBytes: fc.option(fc.nat(20), { nil: undefined }),
      }),
    },
  ),
  { maxLength: 80, size: 'max' },
);

test('whatever happens in whatever order, the log agrees with a plain array', async () => {
  const limits = fc.record({ retainBytes: fc.nat(20), retainChunks: fc.nat(6) });
  await fc.assert(
    fc.asyncProperty(limits, steps, async (retain, plan) => {
      const evicted: number[] = [];
      const log = new MemoryOutputLog({ ...retain, onEvicted: (bytes) => evicted.push(bytes) });
      const naive = new NaiveLog(retain);
      let seq = 0;
      for (const step of plan) {
        if (step.type === 'append') {
          seq += 1 + step.gap;
          log.append(seq, 'pty', bytesOf(step.size, seq));
          naive.chunks.push({ seq, stream: 'pty', bytes: bytesOf(step.size, seq) });
        } else if (step.type === 'confirm') {
          log.confirm(step.seq);
          naive.confirmedSeq = Math.max(naive.confirmedSeq, step.seq);
        } else if (step.type === 'mode') {
          log.mode = step.mode;
          naive.mode = step.mode;
        } else {
          expect(await log.read(step.afterSeq, step.maxBytes)).toEqual(naive.read(step.afterSeq, step.maxBytes));
        }
        naive.evict();
        expect(log).toMatchObject({
          mode: naive.mode,
          firstSeq: naive.chunks[0]?.seq,
          heldBytes: naive.bytes(naive.chunks),
          heldChunks: naive.chunks.length,
          unconfirmedBytes: naive.bytes(naive.chunks.filter((chunk) => chunk.seq > naive.confirmedSeq)),
          confirmedSeq: naive.confirmedSeq,
          lostBytes: naive.lostBytes,
          lostChunks: naive.lostChunks,
        });
      }
      expect(evicted.reduce((sum, bytes) => sum + bytes, 0)).toBe(naive.lostBytes);
    }),
    { numRuns: 500 },
  );
});
