/** Questions whose honest answer is larger than a message may be. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServerProcess } from './support/server-process.ts';

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start(['--retain-bytes', '64MiB']);
});
afterAll(async () => await server[Symbol.asyncDispose]());

test('a read of more than fits into a message is answered with what does', async () => {
  await using client = await server.connect();
  const total = 60_000_000; // 80 MB in base64, where a message has at most 64 MiB.
  await client.start('p', ['head', '-c', String(total), '/dev/zero']);
  await client.finished('p');
  let bytes = 0;
  for (let afterSeq = 0, closed = false; !closed || bytes < total; ) {
    const read = await client.request<{ chunks: { seq: number; chunk: string }[]; closed: boolean }>('process/read', {
      processId: 'p',
      afterSeq,
    });
    closed = read.closed;
    bytes += read.chunks.reduce((sum, { chunk }) => sum + Buffer.byteLength(chunk, 'base64'), 0);
    afterSeq = read.chunks.at(-1)?.seq ?? Number.POSITIVE_INFINITY;
  }
  expect(bytes).toBe(total);
});
