/** Hard cuts while a process floods: the reader that resumes gets every byte once, or is told exactly what is gone. */
import { describe, expect, test } from 'vitest';
import { dialWebSocket } from '../../src/transport/index.ts';
import { TestClient } from '../support/client.ts';
import { CounterReader, counterFlood, type ReadAnswer } from '../support/counter-flood.ts';
import { startServer, type TestServer } from '../support/server.ts';

const MIB = 1024 * 1024;
const ENDLESS = 64 * 1024 * MIB;

/** The same numbers on every run, so that a failure can be seen again. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Follows the flood and cuts the connection so many times, at random places; ends it after the last resume. */
async function ride(server: TestServer, cuts: number, random: () => number): Promise<CounterReader> {
  let client = await server.connect();
  await client.start('flood', counterFlood(ENDLESS));
  const reader = new CounterReader('flood');
  for (let cut = 0; cut < cuts; cut += 1) {
    const target = reader.offset + Math.floor(random() * MIB);
    // Take events until the place of the cut, then drop with more under way.
    while (reader.offset < target) {
      await client.next((message) => message.type === 'notification');
      reader.takePushes(client);
    }
    await client.drop();
    reader.takePushes(client); // What had arrived is ours; a pong may have said so already.
    client = await resume(server, client.sessionId);
    reader.newConnection();
    reader.takeRead(await client.request<ReadAnswer>('process/read', { processId: 'flood', afterSeq: reader.lastSeq }));
    reader.takePushes(client);
  }
  await client.request('process/terminate', { processId: 'flood' });
  await client.finished('flood');
  reader.takePushes(client);
  await client.drop();
  return reader;
}

/** Our side of the cut is known at once, the server's a moment later; until then the session looks attached. */
async function resume(server: TestServer, sessionId: string): Promise<TestClient> {
  const client = new TestClient(await dialWebSocket(server.url));
  for (;;) {
    try {
      return await client.initialize(sessionId);
    } catch (error) {
      if (!String(error).includes('already attached')) throw error;
    }
  }
}

describe('a flood over a connection that is cut again and again', () => {
  test('held output: not one byte is lost or doubled in 100 cuts', { timeout: 120_000 }, async () => {
    await using server = await startServer('websocket');
    const reader = await ride(server, 100, randomNumbers(1));
    expect(reader.closed).toBe(true);
    expect(reader.skipped).toBe(0);
    expect(reader.offset).toBeGreaterThan(30 * MIB);
  });

  test('drained output: the reader is told to the byte what was dropped', { timeout: 120_000 }, async () => {
    await using server = await startServer('websocket', { detachedOutput: 'drain', retainBytes: 64 * 1024 });
    const reader = await ride(server, 20, randomNumbers(2));
    expect(reader.closed).toBe(true);
    expect(reader.skipped).toBeGreaterThan(0);
  });
});
