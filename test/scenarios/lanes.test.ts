/** What waits does not hold up what does not. */
import { describe, expect, test } from 'vitest';
import { encodeRequest } from '../../src/wire/encode.ts';
import { startServer, TRANSPORTS } from '../support/server.ts';

describe.each(TRANSPORTS)('over %s', (transport) => {
  test('a long poll holds up neither status nor terminate', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.start('p', ['sleep', '300']);
    const read = client.request('process/read', { processId: 'p', waitMs: 60_000 });
    expect(await client.request('environment/status')).toEqual({ status: 'ready' });
    expect(await client.request('process/terminate', { processId: 'p' })).toEqual({ running: true });
    expect(await read).toMatchObject({ exited: true, exitCode: 137 });
    await client.finished('p');
  });

  test('writes behind a full pipe hold up nothing', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    await client.start('p', ['sleep', '300'], { pipeStdin: true });
    const chunk = Buffer.alloc(64 * 1024, 'x').toString('base64');
    const writes = Array.from({ length: 250 }, (_, index) =>
      client.request('process/write', { processId: 'p', chunk, writeId: String(index) }),
    );
    expect(await client.request('environment/status')).toEqual({ status: 'ready' });
    expect(await client.request('process/read', { processId: 'p' })).toMatchObject({ exited: false });
    await client.request('process/terminate', { processId: 'p' });
    await Promise.allSettled(writes);
    await client.finished('p');
  });

  test('pipelined requests are answered in order, and a write is seen by the read behind it', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const answers = client.next((message) => message.type === 'response' && message.id === 9_005);
    const start = {
      processId: 'p',
      argv: ['cat'],
      cwd: 'file:///tmp',
      env: { PATH: '/usr/bin:/bin' },
      tty: false,
      pipeStdin: true,
    };
    client.connection.send(encodeRequest(9_001, 'process/start', start));
    client.connection.send(encodeRequest(9_002, 'process/write', { processId: 'p', chunk: 'aGk=', writeId: '1' }));
    client.connection.send(encodeRequest(9_003, 'process/write', { processId: 'p', chunk: 'aGk=', writeId: '2' }));
    client.connection.send(encodeRequest(9_004, 'process/read', { processId: 'p' }));
    client.connection.send(encodeRequest(9_005, 'process/read', { processId: 'nobody-yet', waitMs: 0 }));
    await Promise.race([answers, client.answerTo(9_005)]);
    const order = client.messages.flatMap((message) =>
      (message.type === 'response' || message.type === 'error') && Number(message.id) > 9_000 ? [message.id] : [],
    );
    expect(order).toEqual([9_001, 9_002, 9_003, 9_004, 9_005]);
    expect(client.messages.find((message) => message.type === 'response' && message.id === 9_002)).toMatchObject({
      result: { status: 'accepted' },
    });
    await client.request('process/terminate', { processId: 'p' });
    await client.finished('p');
  });

  test('terminate cancels a start that was sent before it and has not happened', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const start = {
      processId: 'p',
      argv: ['sleep', '300'],
      cwd: 'file:///tmp',
      env: { PATH: '/usr/bin:/bin' },
      tty: false,
    };
    const started = client.answerTo(9_001);
    const ended = client.answerTo(9_002);
    client.connection.send(encodeRequest(9_001, 'process/start', start));
    client.connection.send(encodeRequest(9_002, 'process/terminate', { processId: 'p' }));
    expect(await ended).toMatchObject({ result: { running: true } });
    const answer = await started;
    // Whichever came first inside the server, nothing may be left running.
    if (answer.type === 'error')
      expect(answer.error).toEqual({ code: -32600, message: 'process p start was cancelled' });
    else expect((await client.finished('p')).exitCode).toBe(137);
  });

  test('refusals are answered in their turn too', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const last = client.answerTo(9_003);
    const start = { processId: 'p', argv: ['true'], cwd: 'file:///tmp', env: { PATH: '/usr/bin:/bin' }, tty: false };
    client.connection.send(encodeRequest(9_001, 'process/start', start));
    client.connection.send('oops');
    client.connection.send(encodeRequest(9_002, 'nope'));
    client.connection.send(encodeRequest(9_003, 'process/start', {}));
    await last;
    const ids = client.messages.flatMap((message) =>
      message.type === 'response' || message.type === 'error' ? [Number(message.id)] : [],
    );
    expect(ids.slice(-4)).toEqual([9_001, -1, 9_002, 9_003]);
    await client.finished('p');
  });

  test('5,000 pipelined requests are all answered, in order', async () => {
    await using server = await startServer(transport);
    const client = await server.connect();
    const last = client.answerTo(15_000);
    for (let id = 10_001; id <= 15_000; id += 1) {
      client.connection.send(encodeRequest(id, 'process/read', { processId: 'nobody' }));
    }
    await last;
    const ids = client.messages.flatMap((message) => (message.type === 'error' ? [message.id] : []));
    expect(ids).toEqual(Array.from({ length: 5_000 }, (_, index) => 10_001 + index));
  });
});

test('a wider ordinary lane runs several requests at a time', async () => {
  await using server = await startServer('memory', { concurrentRequests: 2 });
  const client = await server.connect();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => client.run(`p${index}`, `echo ${index}`)));
  expect(answers.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 20 }, (_, index) => `${index}\n`));
});
