/** Seed 002's shared suite: one set of expectations for processes, whether the client is in-process or remote. */
import { describe, expect, test } from 'vitest';
import { startServer } from '../support/server.ts';
import { CLIENTS, isGone, read, refusal, terminate, textOf, toBase64, write } from './support.ts';

describe('seed 002 behaviours', () => {
  describe.each(CLIENTS)('for %s', (_client, transport) => {
    test('a process starts, prints and exits, and read tells the same as the events', async () => {
      await using server = await startServer(transport);
      const client = await server.connect();
      const done = await client.run('p', 'echo out; exit 3');
      expect(done).toMatchObject({ stdout: 'out\n', stderr: '', pty: '', exitCode: 3, seqs: [1, 2, 3] });
      expect(client.events('p')).toEqual([
        { method: 'process/output', params: { processId: 'p', seq: 1, stream: 'stdout', chunk: toBase64('out\n') } },
        { method: 'process/exited', params: { processId: 'p', seq: 2, exitCode: 3, sandboxDenied: false } },
        { method: 'process/closed', params: { processId: 'p', seq: 3 } },
      ]);
      expect(await read(client, 'p')).toEqual({
        chunks: [{ seq: 1, stream: 'stdout', chunk: toBase64('out\n') }],
        nextSeq: 4,
        exited: true,
        exitCode: 3,
        closed: true,
        failure: null,
        sandboxDenied: false,
      });
    });

    test('standard output and standard error are told apart, and a terminal is one stream', async () => {
      await using server = await startServer(transport);
      const client = await server.connect();
      const script = 'echo out; echo err >&2';
      expect(await client.run('pipes', script)).toMatchObject({ stdout: 'out\n', stderr: 'err\n', pty: '' });
      expect(await client.run('terminal', script, { tty: true })).toMatchObject({
        stdout: '',
        stderr: '',
        pty: 'out\r\nerr\r\n',
      });
    });

    // Seed 002: {"accepted":true}.
    test('a terminal takes what is written to it', async () => {
      await using server = await startServer(transport);
      const client = await server.connect();
      await client.start('p', ['sh', '-c', 'read line; echo "got $line"'], { tty: true });
      expect(await write(client, 'p', 'hello\n')).toEqual({ status: 'accepted' });
      expect((await client.finished('p')).pty).toBe('hello\r\ngot hello\r\n');
    });

    // Seed 002: -32600 "stdin is closed for process p", always without a terminal. Today: a status, and `pipeStdin`.
    test('without a terminal a process has no input to write to', async () => {
      await using server = await startServer(transport);
      const client = await server.connect();
      await client.start('p', ['sleep', '300']);
      expect(await write(client, 'p', 'hello\n')).toEqual({ status: 'stdinClosed' });
    });

    test('read waits for output until its time is over, and gives it in pieces of the size asked for', async () => {
      await using server = await startServer(transport);
      const client = await server.connect();
      await client.start('p', ['cat'], { pipeStdin: true });
      expect(await read(client, 'p', { waitMs: 20 })).toMatchObject({ chunks: [], nextSeq: 1, exited: false });
      const first = read(client, 'p', { waitMs: 60_000 });
      await write(client, 'p', 'one');
      expect(textOf(await first)).toBe('one');
      const second = read(client, 'p', { afterSeq: 1, waitMs: 60_000 });
      await write(client, 'p', 'two');
      expect(await second).toMatchObject({ chunks: [{ seq: 2, chunk: toBase64('two') }], nextSeq: 3 });
      expect(textOf(await read(client, 'p'))).toBe('onetwo');
      expect(await read(client, 'p', { maxBytes: 1 })).toMatchObject({ chunks: [{ seq: 1 }], nextSeq: 2 });
      expect(textOf(await read(client, 'p', { maxBytes: 5 }))).toBe('one');
      expect(textOf(await read(client, 'p', { maxBytes: 6 }))).toBe('onetwo');
    });

    // Seed 000: running: true for any known id. Seed 002 and today: false once it has exited.
    test('terminate tells whether there was something to end', async () => {
      await using server = await startServer(transport);
      const client = await server.connect();
      await client.start('p', ['sh', '-c', 'echo $$; exec sleep 300']);
      const { params } = await client.notification(({ method }) => method === 'process/output');
      const pid = Number(Buffer.from(String(params.chunk), 'base64').toString());
      expect(await terminate(client, 'p')).toEqual({ running: true });
      expect((await client.finished('p')).exitCode).toBe(137);
      expect(isGone(pid)).toBe(true);
      expect(await terminate(client, 'p')).toEqual({ running: false });
    });

    test('what cannot be started says why, and an empty command is refused before anything is looked at', async () => {
      await using server = await startServer(transport);
      const client = await server.connect();
      expect(await refusal(client.start('p', ['/nonexistent']))).toBe('-32603 No such file or directory (os error 2)');
      expect(await refusal(client.start('p', []))).toBe('-32602 argv must not be empty');
      await client.start('p', ['sleep', '300']);
      expect(await refusal(client.start('p', []))).toBe('-32602 argv must not be empty');
    });

    test('the processes of one connection are unknown to another', async () => {
      await using server = await startServer(transport);
      const first = await server.connect();
      const second = await server.connect();
      await first.start('p', ['sleep', '300']);
      expect(await refusal(read(second, 'p'))).toBe('-32600 unknown process id p');
      expect(await terminate(second, 'p')).toEqual({ running: false });
      expect(await terminate(first, 'p')).toEqual({ running: true });
    });
  });
});
