/** A start that is cancelled before it is done: its client is told so, once, and it never was a process. */
import { afterEach, expect, test } from 'vitest';
import { createSpawner } from '../../src/process/choose-spawner.ts';
import type { Spawner } from '../../src/process/spawner.ts';
import { type Deferred, deferred } from '../../src/util/deferred.ts';
import { RpcError, type TestClient } from '../support/client.ts';
import { startServer } from '../support/server.ts';
import { TEST_SPAWNER } from '../support/spawner.ts';
import { killMarked, marked, newMark, untilMarked } from './support/marked.ts';
import { until } from './support/until.ts';

const MARK = newMark();
afterEach(() => killMarked(MARK));

/** A spawner that waits for a word before each child. */
function slowSpawner(): { spawner: Spawner; asked: Deferred<void>[] } {
  const inner = createSpawner(TEST_SPAWNER);
  const asked: Deferred<void>[] = [];
  const spawn: Spawner['spawn'] = async (request) => {
    const go = deferred();
    asked.push(go);
    await go.promise;
    return await inner.spawn(request);
  };
  return { spawner: { name: inner.name, spawn }, asked };
}

const outcome = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => 'started',
    (error: unknown) => (error instanceof RpcError ? `${error.code} ${error.message}` : String(error)),
  );

/** Starts a process and cancels the start while the spawner is at it. */
async function cancelStart(client: TestClient, asked: Deferred<void>[], processId: string): Promise<void> {
  const count = asked.length;
  const start = outcome(client.start(processId, ['sleep', MARK]));
  await until(
    () => asked.length,
    (now) => now > count,
    'the spawner to be asked',
  );
  expect(await client.request('process/terminate', { processId })).toEqual({ running: true });
  asked[count]?.resolve();
  expect(await start).toBe(`-32600 process ${processId} start was cancelled`);
}

test('a cancelled start sends no notifications', async () => {
  const { spawner, asked } = slowSpawner();
  await using server = await startServer('websocket', { spawner });
  const client = await server.connect();
  await cancelStart(client, asked, 'p');
  await client.request('environment/status');
  expect(client.events('p')).toEqual([]);
  await untilMarked(MARK, 0);
});

test('a process that takes the id of a cancelled start is not forgotten with it', async () => {
  const { spawner, asked } = slowSpawner();
  {
    await using server = await startServer('websocket', { spawner, closedRetentionMs: 50 });
    const client = await server.connect();
    await cancelStart(client, asked, 'p');
    const start = client.start('p', ['sleep', MARK]);
    await until(
      () => asked.length,
      (count) => count === 2,
      'the spawner to be asked again',
    );
    asked[1]?.resolve();
    await start;
    await untilMarked(MARK, 1);
    // Another process lives and is forgotten in the meantime: so long is the retention, and it began later.
    const other = client.run('other', 'exit 0');
    await until(
      () => asked.length,
      (count) => count === 3,
      'the spawner to be asked once more',
    );
    asked[2]?.resolve();
    await other;
    const read = (processId: string): Promise<string> => outcome(client.request('process/read', { processId }));
    await until(
      () => read('other'),
      (text) => text !== 'started',
      'the other to be forgotten',
    );
    expect(await read('p')).toBe('started');
  }
  expect(marked(MARK)).toEqual([]);
});
