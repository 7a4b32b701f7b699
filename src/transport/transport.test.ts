import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { openPair, TRANSPORTS, type TransportName } from '../../test/support/transport-pairs.ts';
import { MAX_QUEUED_INCOMING, SEND_HIGH_WATER_BYTES } from '../limits.ts';
import type { Message } from '../wire/message.ts';
import type { Connection } from './connection.ts';

const note = (n: number, pad = ''): string => JSON.stringify({ method: 'n', params: { n, pad } });
const noteOf = (message: Message): number =>
  message.type === 'notification' ? Number((message.params as { n: number }).n) : Number.NaN;
const count = (length: number): number[] => Array.from({ length }, (_, index) => index);

/** Takes `wanted` messages, or all of them until the end. */
async function take(connection: Connection, wanted = Number.POSITIVE_INFINITY): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of connection.incoming) {
    messages.push(message);
    if (messages.length >= wanted) break;
  }
  return messages;
}

describe.each(TRANSPORTS)('over %s', (name: TransportName) => {
  test('messages arrive whole and in order, whatever is in them and however they are sent', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ text: fc.string({ unit: 'binary' }), asBytes: fc.boolean(), newTurn: fc.boolean() })),
        async (plan) => {
          await using pair = await openPair(name);
          const received = take(pair.far, plan.length || undefined);
          for (const { text, asBytes, newTurn } of plan) {
            const frame = JSON.stringify({ id: 1, result: text });
            pair.near.send(asBytes ? Buffer.from(frame) : frame);
            if (newTurn) await nextTurn();
          }
          if (plan.length === 0) await pair.near.close('end');
          expect(await received).toEqual(plan.map(({ text }) => ({ type: 'response', id: 1, result: text })));
        },
      ),
      { numRuns: 20 },
    );
  });

  test('10,000 messages both ways at once all arrive in order', async () => {
    await using pair = await openPair(name);
    const both = Promise.all([take(pair.near, 10_000), take(pair.far, 10_000)]);
    for (const n of count(10_000)) {
      pair.near.send(note(n));
      pair.far.send(note(n));
    }
    const [atNear, atFar] = await both;
    expect(atNear.map(noteOf)).toEqual(count(10_000));
    expect(atFar.map(noteOf)).toEqual(count(10_000));
  });

  test('a malformed message is an event with the transport named, and the connection goes on', async () => {
    await using pair = await openPair(name);
    pair.near.send('{"oops"');
    pair.near.send(note(1));
    const [malformed, next] = await take(pair.far, 2);
    const prefix = name === 'websocket' ? 'failed to parse websocket' : 'failed to parse';
    expect(malformed).toEqual({
      type: 'malformed',
      detail: expect.stringMatching(`^${prefix} JSON-RPC message from ${pair.far.label}: EOF while parsing`),
    });
    expect(next).toEqual({ type: 'notification', method: 'n', params: { n: 1, pad: '' } });
  });

  test('a peer that does not read makes the sender congested, bounded, until it reads', async () => {
    await using pair = await openPair(name);
    const pad = 'x'.repeat(16 * 1024);
    let sent = 0;
    while (!pair.near.congested) {
      pair.near.send(note(sent, pad));
      sent += 1;
      await nextTurn();
      // The kernel takes a few megabytes for a peer on the same machine; beyond that somebody hoards.
      expect(sent * pad.length).toBeLessThan(64 * 1024 * 1024);
    }
    expect(sent * pad.length).toBeGreaterThanOrEqual(SEND_HIGH_WATER_BYTES - pad.length);
    let hasDrained = false;
    const drained = pair.near.drained().then(() => {
      hasDrained = true;
    });
    await nextTurn();
    expect(hasDrained).toBe(false);

    const received = take(pair.far, sent);
    await drained;
    expect(pair.near.congested).toBe(false);
    expect((await received).map(noteOf)).toEqual(count(sent));
  });

  test('drained is at once when nothing is queued', async () => {
    await using pair = await openPair(name);
    expect(pair.near.congested).toBe(false);
    await pair.near.drained();
  });

  test.skipIf(name.startsWith('stdio'))('confirm comes only when the peer has read what was sent before', async () => {
    await using pair = await openPair(name);
    const total = 5_000;
    let taken = 0;
    const reading = (async () => {
      for await (const _ of pair.far.incoming) {
        taken += 1;
        if (taken % 50 === 0) await nextTurn();
        if (taken === total) break;
      }
    })();
    for (const n of count(total)) pair.near.send(note(n, 'x'.repeat(1000)));
    expect(await pair.near.confirm()).toBe(true);
    // A socket delivers 64 KiB at a time, so the queue may exceed its limit by that much.
    expect(taken).toBeGreaterThan(name === 'memory' ? total - 2 : total - MAX_QUEUED_INCOMING - 70);
    await reading;
  });

  test('confirm is true when everything has left, and false when the connection ends first', async () => {
    await using pair = await openPair(name);
    const received = take(pair.far, 1);
    pair.near.send(note(1));
    expect(await pair.near.confirm()).toBe(true);
    await received;
    // Too much for any kernel buffer, and the peer reads no more.
    for (const n of count(24)) pair.near.send(note(n, 'x'.repeat(1024 * 1024)));
    const unanswered = pair.near.confirm();
    await pair.near.close('drop');
    expect(await unanswered).toBe(false);
    expect(await pair.near.confirm()).toBe(false);
  });

  test('messages sent before a farewell arrive, then both sides end cleanly', async () => {
    await using pair = await openPair(name);
    for (const n of count(1_000)) pair.near.send(note(n));
    const closing = pair.near.close('end', 'done');
    expect(pair.near.isClosed).toBe(true);
    expect((await take(pair.far)).map(noteOf)).toEqual(count(1_000));
    await closing;
    expect(await pair.far.closed).toEqual({ type: 'clean' });
    expect(await pair.near.closed).toEqual({ type: 'clean' });
  });

  test('from the moment of closing on nothing is sent, nor queued', async () => {
    await using pair = await openPair(name);
    pair.near.send(note(1));
    const closing = pair.near.close('end');
    pair.near.send(note(2, 'x'.repeat(2 * SEND_HIGH_WATER_BYTES)));
    expect(pair.near.congested).toBe(false);
    expect((await take(pair.far)).map(noteOf)).toEqual([1]);
    await closing;
  });

  test('closing twice is closing once, and a closed connection swallows what is sent', async () => {
    await using pair = await openPair(name);
    await Promise.all([pair.near.close('drop'), pair.near.close('drop'), pair.near.close('end')]);
    expect(pair.near.isClosed).toBe(true);
    pair.near.send(note(1, 'x'.repeat(2 * SEND_HIGH_WATER_BYTES)));
    expect(pair.near.congested).toBe(false);
    await pair.near.drained();
    expect(await pair.near.closed).toEqual({ type: 'clean' });
    expect(await take(pair.near)).toEqual([]);
    expect(await take(pair.far)).toEqual([]);
    await pair.far.closed;
    expect(pair.far.isClosed).toBe(true);
  });

  test('no timer outlives the connection', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    try {
      for (const how of ['end', 'drop'] as const) {
        await using pair = await openPair(name);
        await Promise.all([pair.near.close(how), take(pair.far), pair.far.closed]);
        expect(vi.getTimerCount()).toBe(0);
      }
    } finally {
      vi.useRealTimers();
    }
  });

  test('a sender that waits for drained is let go when the connection ends', async () => {
    await using pair = await openPair(name);
    for (const n of count(24)) pair.near.send(note(n, 'x'.repeat(1024 * 1024)));
    expect(pair.near.congested).toBe(true);
    const drained = pair.near.drained();
    await pair.near.close('drop');
    await drained;
    await pair.far.incoming[Symbol.asyncIterator]().next();
    expect(pair.near.congested).toBe(false);
  });
});
