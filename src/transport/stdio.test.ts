import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { MAX_MESSAGE_BYTES } from '../limits.ts';
import type { Message } from '../wire/message.ts';
import type { Connection } from './connection.ts';
import { openStdioConnection } from './stdio.ts';

async function allMessages(connection: Connection): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of connection.incoming) messages.push(message);
  return messages;
}

const open = (input: Readable, output: Writable = new PassThrough()): Connection =>
  openStdioConnection({ input, output });
const methods = (messages: Message[]): unknown[] => messages.map((message) => 'method' in message && message.method);

test.each<[string, string[], string[]]>([
  ['one message a line', ['{"method":"a"}\n{"method":"b"}\n'], ['a', 'b']],
  ['carriage returns before the line feed', ['{"method":"a"}\r\n{"method":"b"}\r\n'], ['a', 'b']],
  ['blank lines', ['\n \t\r\n\n{"method":"a"}\n\u00a0\n\n'], ['a']],
  ['space around a message', ['  {"method":"a"} \n'], ['a']],
  ['a last line without its end', ['{"method":"a"}\n{"method":"b"}'], ['a', 'b']],
  ['lines cut anywhere', ['{"met', 'hod":"a', '"}', '\r', '\n{"method":"b"}\n'], ['a', 'b']],
  ['nothing', [], []],
])('%s', async (_name, chunks, expected) => {
  const connection = open(Readable.from(chunks.map((chunk) => Buffer.from(chunk))));
  expect(methods(await allMessages(connection))).toEqual(expected);
  expect(await connection.closed).toEqual({ type: 'clean' });
});

test('a malformed line is an event with the prefix of the reference', async () => {
  const connection = open(Readable.from([Buffer.from('nonsense\n{"method":"a"}\n')]));
  const [malformed, next] = await allMessages(connection);
  expect(malformed).toEqual({
    type: 'malformed',
    detail: 'failed to parse JSON-RPC message from exec-server stdio: expected ident at line 1 column 2',
  });
  expect(next).toMatchObject({ method: 'a' });
});

test('a line of exactly 64 MiB is a message, one byte more ends the connection without its newline', async () => {
  const line = Buffer.alloc(MAX_MESSAGE_BYTES, 'x');
  line.write('{"method":"a","params":"', 0);
  line.write('"}', MAX_MESSAGE_BYTES - 2);
  const input = new PassThrough();
  const connection = open(input);
  input.write(line);
  input.write('\n');
  input.write(line);
  input.write('x');
  expect(methods(await allMessages(connection))).toEqual(['a']);
  expect(await connection.closed).toEqual({
    type: 'lost',
    text: 'JSON-RPC message from exec-server stdio exceeds maximum length of 67108864 bytes',
  });
});

test('invalid UTF-8 ends the connection, after what came before and before what comes after', async () => {
  const bytes = [
    Buffer.from('{"method":"a"}\n'),
    Buffer.from([0x22, 0xff, 0x22, 0x0a]),
    Buffer.from('{"method":"b"}\n'),
  ];
  const connection = open(Readable.from([Buffer.concat(bytes)]));
  expect(methods(await allMessages(connection))).toEqual(['a']);
  expect(await connection.closed).toEqual({
    type: 'lost',
    text: 'failed to read JSON-RPC message from exec-server stdio: stream did not contain valid UTF-8',
  });
});

test('a read error ends the connection once, with its reason', async () => {
  const input = new PassThrough();
  const connection = open(input);
  input.destroy(Object.assign(new Error('read EIO'), { code: 'EIO' }));
  expect(await connection.closed).toEqual({
    type: 'lost',
    text: 'failed to read JSON-RPC message from exec-server stdio: I/O error (os error 5)',
  });
  input.emit('error', new Error('once more'));
});

test('a reader that is gone ends the connection once, with the reason of the system', async () => {
  const child = spawn('sh', ['-c', 'exec <&-; echo closed; exec sleep 60'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = once(child, 'close');
  await once(child.stdout, 'data');
  const input = new PassThrough();
  const connection = openStdioConnection({ input, output: child.stdin, label: 'exec-server stdio command' });
  connection.send('{"method":"a"}');
  const unconfirmed = connection.confirm();
  expect(await connection.closed).toEqual({
    type: 'lost',
    text: 'failed to write JSON-RPC message to exec-server stdio command: Broken pipe (os error 32)',
  });
  expect(await unconfirmed).toBe(false);
  expect(input.destroyed).toBe(true);
  connection.send('{"method":"b"}');
  child.kill('SIGKILL');
  await exited;
});

test('an output that was closed under us is noticed with the next message', async () => {
  const output = new PassThrough();
  const connection = open(new PassThrough(), output);
  output.destroy();
  await once(output, 'close');
  expect(connection.isClosed).toBe(false);
  connection.send('{"method":"a"}');
  expect(await connection.closed).toMatchObject({ type: 'lost', text: expect.stringContaining('failed to write') });
});

test.each([
  ['is being written', nextTurn],
  ['waits for its turn', async () => {}],
])('an output that is closed while a message %s is a loss at once', async (_name, wait) => {
  const output = new Writable({ write: () => {} });
  const connection = open(new PassThrough(), output);
  connection.send('{"method":"a"}');
  const unconfirmed = connection.confirm();
  await wait();
  output.destroy();
  expect(await connection.closed).toMatchObject({ type: 'lost', text: expect.stringContaining('failed to write') });
  expect(await unconfirmed).toBe(false);
});

test('an input that was closed before its end is a loss', async () => {
  const input = new PassThrough();
  const connection = open(input);
  input.destroy();
  expect(await connection.closed).toMatchObject({ type: 'lost', text: expect.stringContaining('failed to read') });
});

test('the frames of one turn are one write, each on its line', async () => {
  const writes: string[] = [];
  const output = new Writable({
    writev(chunks, done) {
      writes.push(Buffer.concat(chunks.map(({ chunk }) => chunk)).toString());
      done();
    },
    write(chunk, _encoding, done) {
      writes.push(String(chunk));
      done();
    },
  });
  const connection = open(new PassThrough(), output);
  connection.send('{"method":"a"}');
  connection.send(Buffer.from('{"method":"b"}'));
  await Promise.resolve();
  connection.send('{"method":"c"}');
  expect(writes).toEqual([]);
  await nextTurn();
  expect(writes).toEqual(['{"method":"a"}\n{"method":"b"}\n{"method":"c"}\n']);
  expect(await connection.confirm()).toBe(true);
  await connection.close('end');
});

test('a farewell to a reader that never reads is cut short', async () => {
  const output = new Writable({ write: () => {} });
  const connection = open(new PassThrough(), output);
  connection.send('{"method":"a"}');
  await connection.close('end');
  expect(output.destroyed).toBe(true);
  expect(await connection.closed).toEqual({ type: 'clean' });
});
