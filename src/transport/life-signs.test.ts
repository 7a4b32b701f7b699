import { expect, test } from 'vitest';
import { LifeSigns, type SocketLook } from './life-signs.ts';

const look = (part: Partial<SocketLook> = {}): SocketLook => ({
  receivedBytes: 0,
  handedOverBytes: 0,
  backlogBytes: 0,
  unreadBytes: 0,
  paused: false,
  ...part,
});
const judge = (...looks: SocketLook[]): boolean[] => {
  const signs = new LifeSigns(15_000);
  return looks.map((one) => signs.isAlive(one));
};

test('a peer is dead when two pings in a row saw nothing', () => {
  expect(judge(look(), look(), look())).toEqual([true, true, false]);
});

test('our own pings leaving for the kernel are no sign of life', () => {
  expect(judge(look(), look({ handedOverBytes: 3 }), look({ handedOverBytes: 6 }))).toEqual([true, true, false]);
});

test('anything received is a sign of life', () => {
  const looks = [0, 0, 1, 1, 2, 2, 2].map((receivedBytes) => look({ receivedBytes }));
  expect(judge(...looks)).toEqual([true, true, true, true, true, true, false]);
});

test('a backlog that shrinks is a sign of life, one that stands still is not', () => {
  const moving = [1, 2, 3, 4, 5].map((handedOverBytes) => look({ handedOverBytes, backlogBytes: 1 }));
  expect(judge(...moving)).toEqual([true, true, true, true, true]);
  expect(judge(look({ backlogBytes: 1 }), look({ backlogBytes: 1 }), look({ backlogBytes: 1 }))).toEqual([
    true,
    true,
    false,
  ]);
});

test('the last of a backlog leaving counts once', () => {
  const looks = [look({ backlogBytes: 9 }), look({ handedOverBytes: 9 }), look({ handedOverBytes: 9 })];
  expect(judge(...looks, look({ handedOverBytes: 9 }))).toEqual([true, true, true, false]);
});

test('unread bytes buy time, because the pongs wait behind them', () => {
  const unreadBytes = 3 * 15 * 64 * 1024;
  const looks = Array.from({ length: 6 }, () => look({ unreadBytes }));
  expect(judge(...looks)).toEqual([true, true, true, true, true, false]);
});

test('while we do not read ourselves nobody is declared dead', () => {
  const paused = look({ paused: true });
  expect(judge(paused, paused, paused, paused, look(), look(), look())).toEqual([
    true,
    true,
    true,
    true,
    true,
    true,
    false,
  ]);
});
