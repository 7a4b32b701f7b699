import { mkdtempSync, openSync, readdirSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { errorCode, osErrorText } from './os-error.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'os-error-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

test.each([
  ['a missing file', () => openSync(join(folder, 'nope'), 'r'), 'No such file or directory (os error 2)'],
  ['a file where a folder is needed', () => readdirSync('/etc/passwd'), 'Not a directory (os error 20)'],
  ['a folder opened for writing', () => openSync(folder, 'w'), 'Is a directory (os error 21)'],
  ['a name that is too long', () => openSync(join(folder, 'n'.repeat(300)), 'r'), 'Filename too long (os error 36)'],
])('%s reads as the spec words it', (_case, action, text) => {
  expect(osErrorText(thrownBy(action))).toBe(text);
});

test('a folder with content and a link to itself read as the spec words them', () => {
  writeFileSync(join(folder, 'content'), '');
  expect(osErrorText(thrownBy(() => rmdirSync(folder)))).toBe('Directory not empty (os error 39)');
  symlinkSync('loop', join(folder, 'loop'));
  expect(osErrorText(thrownBy(() => openSync(join(folder, 'loop'), 'r')))).toBe('Symbolic link loop (os error 40)');
});

test.each([
  ['EPERM', 'Operation not permitted (os error 1)'],
  ['EIO', 'I/O error (os error 5)'],
  ['ENXIO', 'No such device or address (os error 6)'],
  ['E2BIG', 'Argument list too long (os error 7)'],
  ['EBADF', 'Bad file descriptor (os error 9)'],
  ['EAGAIN', 'Resource temporarily unavailable (os error 11)'],
  ['ENOMEM', 'Out of memory (os error 12)'],
  ['EACCES', 'Permission denied (os error 13)'],
  ['EBUSY', 'Resource busy (os error 16)'],
  ['EEXIST', 'File exists (os error 17)'],
  ['EXDEV', 'Cross-device link (os error 18)'],
  ['EINVAL', 'Invalid argument (os error 22)'],
  ['ENFILE', 'Too many open files in system (os error 23)'],
  ['EMFILE', 'No file descriptors available (os error 24)'],
  ['ETXTBSY', 'Text file busy (os error 26)'],
  ['EFBIG', 'File too large (os error 27)'],
  ['ENOSPC', 'No space left on device (os error 28)'],
  ['EROFS', 'Read-only file system (os error 30)'],
  ['EDQUOT', 'Quota exceeded (os error 122)'],
])('%s alone is enough for its text', (code, text) => {
  expect(osErrorText({ code })).toBe(text);
});

test('the number alone is enough as well', () => {
  expect(errorCode({ errno: -2 })).toBe('ENOENT');
  expect(osErrorText({ errno: -2 })).toBe('No such file or directory (os error 2)');
});

test('an error outside the table keeps the words of Node and its number', () => {
  expect(osErrorText({ code: 'EALREADY', errno: -114 })).toBe('connection already in progress (os error 114)');
});

test('what is no system error keeps its own message', () => {
  expect(osErrorText(new Error('plain'))).toBe('plain');
  expect(osErrorText('words')).toBe('words');
  expect(osErrorText(Object.assign(new Error('odd'), { code: 'ERR_ODD' }))).toBe('odd');
  expect(osErrorText(Object.assign(new Error('end of file'), { code: 'EOF', errno: -4095 }))).toBe('end of file');
  expect(errorCode(null)).toBeUndefined();
});
