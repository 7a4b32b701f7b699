import { afterEach, expect, test } from 'vitest';
import { ExecError } from '../protocol/errors.ts';
import { loadPtyBinding } from './pty-binding.ts';

const { arch } = process;
afterEach(() => {
  Object.defineProperty(process, 'arch', { value: arch });
});

test('a host the package has no binary for is told which package is missing', () => {
  Object.defineProperty(process, 'arch', { value: 'abacus' });
  expect(() => loadPtyBinding()).toThrow(
    new ExecError('internal', 'a terminal needs the optional package @lydell/node-pty, which cannot be loaded here'),
  );
});
