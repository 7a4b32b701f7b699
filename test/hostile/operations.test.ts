/** Everything at once on the same few processes, in any order: each call is answered, each process ends exactly once. */
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { RpcError, type TestClient } from '../support/client.ts';
import { startServer, TRANSPORTS } from '../support/server.ts';
import { killMarked, newMark, untilMarked } from './support/marked.ts';
import { startParams } from './support/raw-session.ts';

type Operation = { method: string; params: Record<string, unknown> & { processId: string } };

/** Each program carries the mark, so that whatever escapes a failing test can be found. */
const MARK = newMark();
afterEach(() => killMarked(MARK));
const PROGRAMS = [
  ['sh', '-c', 'cat; :', MARK],
  ['yes', MARK],
  ['sh', '-c', 'echo out; echo err >&2; exit 7', MARK],
  ['sh', '-c', 'trap "" INT TERM; while :; do sleep 1; done', MARK],
  ['/no/such/program'],
];
const IDS = ['a', 'b', '__proto__'];
const SIGNALS = ['interrupt', 'terminate', 'kill', 'stop', 'continue', 'winch', 'usr1'];
const MOMENTS = [undefined, null, 0, 1, 20, Number.MAX_SAFE_INTEGER];

const processId = fc.constantFrom(...IDS);
const call = (method: string, params: { [name: string]: fc.Arbitrary<unknown> } = {}): fc.Arbitrary<Operation> =>
  fc.record({ method: fc.constant(method), params: fc.record({ processId, ...params }) });
const oneOf = (...values: unknown[]): fc.Arbitrary<unknown> => fc.constantFrom(...values);

const start: fc.Arbitrary<Operation> = fc
  .record({
    id: processId,
    argv: fc.constantFrom(...PROGRAMS),
    more: fc.record({ tty: oneOf(true, false), timeoutMs: oneOf(...MOMENTS), idleTimeoutMs: oneOf(...MOMENTS) }),
  })
  .map(({ id, argv, more }) => ({
    method: 'process/start',
    params: { processId: id, ...startParams(id, argv, { pipeStdin: true, ...more }) },
  }));
const operation = fc.oneof(
  { weight: 3, arbitrary: start },
  call('process/write', { writeId: oneOf('1', '2', '3', '4', '5'), chunk: oneOf('', 'YQo=', 'BA==') }),
  call('process/read', { afterSeq: oneOf(null, 0, 1, 5, 1e15), maxBytes: oneOf(null, 0, 9_999), waitMs: oneOf(0, 20) }),
  call('process/terminate', { graceMs: oneOf(...MOMENTS) }),
  call('process/signal', { signal: oneOf(...SIGNALS) }),
  call('process/resize', { size: oneOf({ rows: 0, cols: 0 }, { rows: 65_535, cols: 65_535 }) }),
  call('process/flow', { paused: oneOf(true, false) }),
  call('process/closeStdin'),
);

const WAVE = 10;
/** Real time is involved, so a failure cannot be made smaller by running it again. */
const RUNS = { numRuns: 10, endOnFailure: true };

/** What a call may answer when it cannot do what was asked. */
const REFUSALS = new RegExp(
  [
    '^-32600 (unknown process id .*|process id .* is starting|process .* (already exists|start was cancelled))$',
    '^-32602 process .* has no terminal to resize$',
    '^-32603 failed to write to process stdin$',
    '^-32603 No such file or directory \\(os error 2\\)$',
  ].join('|'),
);

async function perform(client: TestClient, { method, params }: Operation): Promise<string> {
  try {
    await client.request(method, params);
    return 'done';
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

/** The events of an id, cut where a new process took it over; no number is left out in any of them. */
function lives(client: TestClient, id: string): string[][] {
  const found: string[][] = [];
  for (const { method, params } of client.events(id)) {
    if (params.seq === 1) found.push([]);
    const life = found.at(-1) ?? [];
    life.push(method);
    expect(params.seq).toBe(life.length);
  }
  return found;
}

test.each(TRANSPORTS)('1,000 calls in any order leave every process ended once, over %s', async (transport) => {
  let lived = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 100, maxLength: 100 }), async (operations) => {
      // Forgotten as soon as it is closed, so that an id may live several times.
      await using server = await startServer(transport, { closedRetentionMs: 0 });
      const client = await server.connect();
      const outcomes: string[] = [];
      // In waves, each sent at once: calls that control overtake starts, and none would ever come to life otherwise.
      for (let sent = 0; sent < operations.length; sent += WAVE) {
        const wave = operations.slice(sent, sent + WAVE);
        outcomes.push(...(await Promise.all(wave.map((one) => perform(client, one)))));
      }
      for (const outcome of outcomes) if (outcome !== 'done') expect(outcome).toMatch(REFUSALS);

      const started = operations.filter(
        ({ method }, index) => method === 'process/start' && outcomes[index] === 'done',
      );
      for (const id of IDS) {
        // Whatever was asked before, this ends it now; held output would keep it open if it had ended by itself.
        await client.request('process/terminate', { processId: id });
        await perform(client, { method: 'process/flow', params: { processId: id, paused: false } });
        const births = started.filter(({ params }) => params.processId === id).length;
        const ends = (): number => client.events(id).filter(({ method }) => method === 'process/closed').length;
        while (ends() < births) await client.next((message) => message.type === 'notification');
        const all = lives(client, id);
        lived += all.length;
        expect(all).toHaveLength(births);
        for (const life of all) {
          expect(life.filter((method) => method === 'process/exited')).toHaveLength(1);
          expect(life.filter((method) => method === 'process/closed')).toHaveLength(1);
          expect(life.at(-1)).toBe('process/closed');
        }
      }
      expect(server.log.filter((line) => /^error/.test(line))).toEqual([]);
    }),
    RUNS,
  );
  expect(lived).toBeGreaterThan(10);
  await untilMarked(MARK, 0);
});

test('what a child echoes is what was accepted, each write once and in order, whatever else is asked', async () => {
  await using server = await startServer('websocket');
  const client = await server.connect();
  const numbers = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 100, maxLength: 100 });
  await fc.assert(
    fc.asyncProperty(fc.uuid(), numbers, async (id, ids) => {
      await client.start(id, ['cat'], { pipeStdin: true });
      const calls = ids.flatMap((number) => {
        const chunk = Buffer.from(`${number}\n`).toString('base64');
        return [
          perform(client, { method: 'process/write', params: { processId: id, chunk, writeId: String(number) } }),
          perform(client, { method: 'process/read', params: { processId: id, maxBytes: number, waitMs: number % 3 } }),
          perform(client, { method: 'process/flow', params: { processId: id, paused: number % 2 === 0 } }),
        ];
      });
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['done']));
      await client.request('process/flow', { processId: id, paused: false });
      await client.request('process/closeStdin', { processId: id });
      const expected = [...new Set(ids)].map((number) => `${number}\n`).join('');
      expect(await client.finished(id)).toMatchObject({ stdout: expected, exitCode: 0 });
    }),
    RUNS,
  );
});
