import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { PingLedger } from './ping-ledger.ts';

test('a pong speaks for its ping and every earlier one', async () => {
  const pings = new PingLedger();
  const first = pings.issueAwaited(10);
  pings.issue(20);
  const third = pings.issueAwaited(30);
  const fourth = pings.issueAwaited(40);
  pings.pong(third.payload);
  expect(await first.answered).toBe(true);
  expect(await third.answered).toBe(true);
  expect(pings.unreadBytes(45)).toBe(15);
  pings.end();
  expect(await fourth.answered).toBe(false);
});

test.each(['', '0', '2', '99', '-1', '1 ', 'x', '1e0', '0x1'])(
  'the unasked pong "%s" answers nothing',
  async (payload) => {
    const pings = new PingLedger();
    let answer: boolean | undefined;
    const { answered } = pings.issueAwaited(10);
    void answered.then((value) => {
      answer = value;
    });
    pings.pong(payload);
    await nextTurn();
    expect(answer).toBeUndefined();
    expect(pings.unreadBytes(10)).toBe(10);
    pings.pong('1');
    await nextTurn();
    expect(answer).toBe(true);
  },
);

test('a repeated pong changes nothing', () => {
  const pings = new PingLedger();
  pings.issue(10);
  pings.issue(20);
  pings.pong('2');
  pings.pong('1');
  expect(pings.unreadBytes(20)).toBe(0);
});
