import { expect, test } from 'vitest';
import { formatAddress, isLoopback, parseListenUrl } from './listen-url.ts';

test.each([
  ['stdio', { type: 'stdio' }],
  ['stdio://', { type: 'stdio' }],
  ['ws://127.0.0.1:0', { type: 'websocket', host: '127.0.0.1', port: 0 }],
  ['ws://0.0.0.0:65535', { type: 'websocket', host: '0.0.0.0', port: 65_535 }],
  ['ws://[::1]:7777', { type: 'websocket', host: '::1', port: 7777 }],
  ['ws://[::ffff:127.0.0.1]:7777', { type: 'websocket', host: '::ffff:127.0.0.1', port: 7777 }],
])('%s is accepted', (text, address) => {
  expect(parseListenUrl(text)).toEqual(address);
});

test.each([
  'ws://localhost:1',
  'ws://127.0.0.1',
  'ws://1.2.3.4:99999',
  'ws://127.0.0.1:1/path',
  'ws://127.0.0.1:',
  'ws://127.0.0.1:+1',
  'ws://127.0.0.1:1e3',
  'ws://127.0.0.01:1',
  'ws://::1:1',
  'ws://[127.0.0.1]:1',
  'ws://[fe80::1%eth0]:1',
  'ws://[::1]',
  'ws://:1',
  'ws://',
])('%s is an invalid websocket address', (text) => {
  expect(() => parseListenUrl(text)).toThrow(
    new Error(`invalid websocket --listen URL \`${text}\`; expected \`ws://IP:PORT\``),
  );
});

test.each([
  'http://127.0.0.1:1',
  'wss://127.0.0.1:1',
  'unix:///tmp/x',
  'off',
  'STDIO',
  'stdio:',
  'WS://127.0.0.1:1',
  '',
])('"%s" is unsupported', (text) => {
  expect(() => parseListenUrl(text)).toThrow(
    new Error(`unsupported --listen URL \`${text}\`; expected \`ws://IP:PORT\` or \`stdio\``),
  );
});

test('an IPv6 address is shown in brackets', () => {
  expect(formatAddress('::1', 7777)).toBe('[::1]:7777');
  expect(formatAddress('127.0.0.1', 7777)).toBe('127.0.0.1:7777');
});

test.each([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['::1', true],
  ['0:0:0:0:0:0:0:1', true],
  ['::ffff:7f00:1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['1::127', false],
])('whether %s is loopback: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});
