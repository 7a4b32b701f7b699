/** Sessions outlive connections: detach, grace, resume, and what happens to output meanwhile. */
import { createConnection, createServer, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { dialWebSocket } from '../../src/transport/index.ts';
import { failure, TestClient } from '../support/client.ts';
import { startServer, type TestServer } from '../support/server.ts';

type ReadResult = {
  chunks: { seq: number; chunk: string }[];
  nextSeq: number;
  exited: boolean;
  exitCode: number | null;
  closed: boolean;
  firstSeq?: number;
  lostBytes?: number;
};

const read = (client: TestClient, processId: string, afterSeq = 0, waitMs = 0): Promise<ReadResult> =>
  client.request('process/read', { processId, afterSeq, waitMs });
const text = ({ chunks }: ReadResult): string =>
  chunks.map(({ chunk }) => Buffer.from(chunk, 'base64').toString()).join('');

describe.each(['memory', 'websocket'] as const)('over %s', (transport) => {
  test('output kept before and printed after a cut is readable after resume', async () => {
    await using server = await startServer(transport);
    const first = await server.connect();
    await first.start('p', ['sh', '-c', 'echo one; read x; echo got $x; exit 4'], { pipeStdin: true });
    await first.notification(() => first.output('p', 'stdout') === 'one\n');
    await first.drop();
    const second = await server.connect(first.sessionId);
    expect(second.sessionId).toBe(first.sessionId);
    expect(text(await read(second, 'p'))).toBe('one\n');
    await second.request('process/write', {
      processId: 'p',
      chunk: Buffer.from('hi\n').toString('base64'),
      writeId: '1',
    });
    const done = await second.finished('p');
    expect(done).toMatchObject({ stdout: 'got hi\n', exitCode: 4, seqs: [2, 3, 4] });
  });

  test('what happened while detached is not pushed again but can be read', async () => {
    await using server = await startServer(transport);
    const first = await server.connect();
    await first.start('p', ['sh', '-c', 'read x; echo away; exit 4'], { pipeStdin: true });
    await first.request('process/write', { processId: 'p', chunk: 'Cg==', writeId: '1' });
    await first.drop();
    const second = await server.connect(first.sessionId);
    let result = await read(second, 'p', 0, 10_000);
    while (!result.closed) result = await read(second, 'p', result.nextSeq - 1, 10_000);
    expect(await read(second, 'p')).toMatchObject({ nextSeq: 4, exited: true, exitCode: 4, closed: true });
  });

  test('an attached session cannot be taken, and the refusal leaves the newcomer usable', async () => {
    await using server = await startServer(transport);
    const first = await server.connect();
    const second = await server.open();
    expect(await failure(second.initialize(first.sessionId))).toBe(
      `-32010 session ${first.sessionId} is already attached to another connection`,
    );
    await first.drop();
    await second.initialize(first.sessionId);
    expect(second.sessionId).toBe(first.sessionId);
  });

  test('of two clients that resume at once exactly one gets the session', async () => {
    await using server = await startServer(transport);
    const first = await server.connect();
    await first.drop();
    const rivals = [await server.open(), await server.open(), await server.open()];
    const outcomes = await Promise.all(rivals.map((rival) => failure(rival.initialize(first.sessionId))));
    expect(outcomes.filter((outcome) => outcome === 'no failure')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome.startsWith('-32010'))).toHaveLength(2);
  });

  test('when the grace is over the processes are ended and the id is unknown', async () => {
    await using server = await startServer(transport, { sessionGraceMs: 50 });
    const first = await server.connect();
    await first.start('p', ['sh', '-c', 'sleep 300 & echo $$ $!; wait']);
    await first.notification(() => first.output('p', 'stdout').includes('\n'));
    const pids = first.output('p', 'stdout').trim().split(' ').map(Number);
    await first.drop();
    await expect.poll(() => pids.some(isAlive), { timeout: 5_000 }).toBe(false);
    const second = await server.open();
    expect(await failure(second.initialize(first.sessionId))).toBe(`-32600 unknown session id ${first.sessionId}`);
    await second.initialize();
  });

  test('process ids belong to the session', async () => {
    await using server = await startServer(transport);
    const first = await server.connect();
    const second = await server.connect();
    await first.run('p', 'echo first');
    expect(await failure(read(second, 'p'))).toBe('-32600 unknown process id p');
    expect((await second.run('p', 'echo second')).stdout).toBe('second\n');
  });

  test('a closed process is forgotten after its retention, and its id is free again', async () => {
    await using server = await startServer(transport, { closedRetentionMs: 30 });
    const client = await server.connect();
    await client.run('p', 'echo a');
    await expect.poll(() => failure(read(client, 'p'))).toBe('-32600 unknown process id p');
    await client.start('p', ['true']);
  });

  test('a process that closed while nobody was attached waits for its client as long as the session does', async () => {
    await using server = await startServer(transport, { closedRetentionMs: 1, sessionGraceMs: 10_000 });
    const first = await server.connect();
    await first.start('p', ['sh', '-c', 'read x; echo done'], { pipeStdin: true });
    await first.drop();
    const second = await server.connect(first.sessionId);
    const result = read(second, 'p', 0, 10_000);
    await second.request('process/write', { processId: 'p', chunk: 'Cg==', writeId: '1' });
    expect(text(await result)).toBe('done\n');
  });

  test('limits on sessions and processes refuse clearly and recover', async () => {
    await using server = await startServer(transport, { maxSessions: 1, maxProcesses: 2, sessionGraceMs: 1 });
    const first = await server.connect();
    await first.start('a', ['sleep', '300']);
    await first.start('b', ['sleep', '300']);
    expect(await failure(first.start('c', ['true']))).toMatch(/^-32603 process limit reached \(2 per session\)/);
    const second = await server.open();
    expect(await failure(second.initialize())).toMatch(/^-32603 session limit reached \(1\)/);
    await first.drop();
    await expect.poll(() => failure(second.initialize())).toBe('no failure');
  });

  test('in drain mode the ring stays small, the child is never blocked, and the loss is told', async () => {
    const retainBytes = 64 * 1024;
    await using server = await startServer(transport, { detachedOutput: 'drain', retainBytes });
    const first = await server.connect();
    const total = 3_000_000;
    await first.start('p', ['sh', '-c', `read x; head -c ${total} /dev/zero`], { pipeStdin: true });
    await first.request('process/write', { processId: 'p', chunk: 'Cg==', writeId: '1' });
    await first.drop();
    const second = await server.connect(first.sessionId);
    let result = await read(second, 'p', 0, 10_000);
    while (!result.closed) result = await read(second, 'p', result.nextSeq - 1, 10_000);
    const all = await read(second, 'p');
    const kept = all.chunks.reduce((sum, { chunk }) => sum + Buffer.from(chunk, 'base64').length, 0);
    expect((all.lostBytes ?? 0) + kept).toBe(total);
    expect(all.chunks[0]?.seq).toBe(all.firstSeq ?? 1);
  });

  test('while detached a flood is held, not lost: the child is paused and goes on after resume', async () => {
    await using server = await startServer(transport, { retainBytes: 256 * 1024 });
    const first = await server.connect();
    const total = 20_000_000;
    await first.start('p', ['head', '-c', String(total), '/dev/zero']);
    await first.notification(({ method }) => method === 'process/output');
    await first.drop();
    const second = await server.connect(first.sessionId);
    const seen = new Output();
    seen.addPushes(first, 'p');
    seen.addRead(await read(second, 'p', seen.lastSeq));
    await second.finished('p');
    seen.addPushes(second, 'p');
    expect(seen.gaps).toEqual([]);
    expect(seen.bytes).toBe(total);
  });
});

/** What a client has of a process's output, from pushes and reads together, by seq. */
class Output {
  readonly #sizes = new Map<number, number>();

  get lastSeq(): number {
    return Math.max(0, ...this.#sizes.keys());
  }

  get bytes(): number {
    return [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
  }

  /** Seqs up to the last that never came; events other than output count as nothing. */
  get gaps(): number[] {
    return Array.from({ length: this.lastSeq }, (_, index) => index + 1).filter((seq) => !this.#sizes.has(seq));
  }

  addPushes(client: TestClient, processId: string): void {
    for (const { params } of client.events(processId)) this.#add(Number(params.seq), String(params.chunk ?? ''));
  }

  addRead({ chunks }: ReadResult): void {
    for (const { seq, chunk } of chunks) this.#add(seq, chunk);
  }

  #add(seq: number, chunk: string): void {
    this.#sizes.set(seq, Buffer.from(chunk, 'base64').length);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('one slow client does not delay another, and loses nothing', async () => {
  await using server = await startServer('websocket');
  await using proxy = await stallable(server);
  const quick = await server.connect();
  const behind = await new TestClient(await dialWebSocket(proxy.url)).initialize();
  const total = 30_000_000;
  await behind.start('flood', ['head', '-c', String(total), '/dev/zero']);
  proxy.stall();
  for (let index = 0; index < 20; index += 1)
    expect((await quick.run(`q${index}`, 'echo quick')).stdout).toBe('quick\n');
  proxy.flow();
  expect((await behind.finished('flood')).stdout.length).toBe(total);
  await behind.drop();
});

type Proxy = AsyncDisposable & { url: string; stall(): void; flow(): void };

/** A TCP hop in front of the server that can stop carrying bytes to the client. */
async function stallable(server: TestServer): Promise<Proxy> {
  const target = new URL(server.url);
  const sockets = new Set<Socket>();
  let toClient: Socket | undefined;
  const hop = createServer((socket) => {
    const upstream = createConnection(Number(target.port), target.hostname);
    toClient = upstream;
    for (const end of [socket, upstream]) {
      sockets.add(end);
      end
        .on('error', () => {})
        .on('close', () => {
          socket.destroy();
          upstream.destroy();
        });
    }
    socket.on('data', (bytes) => upstream.write(bytes));
    upstream.on('data', (bytes) => socket.write(bytes));
  });
  await new Promise<void>((resolve) => hop.listen(0, '127.0.0.1', resolve));
  const address = hop.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `ws://127.0.0.1:${address.port}`,
    stall: () => void toClient?.pause(),
    flow: () => void toClient?.resume(),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => hop.close(resolve));
    },
  };
}
