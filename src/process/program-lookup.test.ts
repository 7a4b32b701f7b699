import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ExecError } from '../protocol/errors.ts';
import { type ProgramRequest, resolveProgram } from './program-lookup.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'program-lookup-'));
  for (const name of ['bin', 'locked', 'shadow']) mkdirSync(join(folder, name));
  for (const path of ['bin/tool', 'here']) writeFileSync(join(folder, path), '#!/bin/sh\n', { mode: 0o755 });
  for (const path of ['locked/tool', 'data']) writeFileSync(join(folder, path), '', { mode: 0o644 });
  mkdirSync(join(folder, 'shadow/tool'));
  symlinkSync('loop', join(folder, 'loop'));
  chmodSync(join(folder, 'bin'), 0o755);
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const TERMINAL = { rows: 24, cols: 80 };
const PATH = '/usr/local/bin:/usr/bin:/bin';

function onPipes(program: string, rest: Partial<ProgramRequest> = {}): string {
  const request = { argv: [program], arg0: undefined, cwd: folder, env: { PATH }, terminal: undefined, ...rest };
  return resolveProgram(request);
}

function onTerminal(program: string, rest: Partial<ProgramRequest> = {}): string {
  return onPipes(program, { terminal: TERMINAL, ...rest });
}

function textOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(ExecError);
    if (error instanceof ExecError) {
      expect(error.kind).toBe('internal');
      return error.message;
    }
  }
  throw new Error('nothing was thrown');
}

const MISSING = 'No such file or directory (os error 2)';
const DENIED = 'Permission denied (os error 13)';
const NO_FOLDER = 'Not a directory (os error 20)';

test('a bare name is found in the PATH of the child, in its order', () => {
  expect(onPipes('tool', { env: { PATH: `${folder}:${folder}/bin` } })).toBe(`${folder}/bin/tool`);
  expect(onTerminal('tool', { env: { PATH: `${folder}:${folder}/bin` } })).toBe(`${folder}/bin/tool`);
});

test('relative entries of the PATH are relative to the folder of the child, an empty one is that folder', () => {
  expect(onPipes('tool', { env: { PATH: 'bin' } })).toBe('bin/tool');
  expect(onPipes('here', { env: { PATH: '/nonexistent:' } })).toBe('./here');
  expect(onTerminal('here', { env: { PATH: '' } })).toBe('./here');
});

test('without a PATH pipes search the default of libc and a terminal refuses', () => {
  expect(onPipes('true', { env: {} })).toBe('/bin/true');
  expect(textOf(() => onTerminal('true', { env: {} }))).toBe(
    'Unable to spawn true because:\nUnable to resolve the PATH',
  );
});

test('a name that is nowhere on the PATH is told apart on pipes and on a terminal', () => {
  const env = { PATH: '/nonexistent' };
  expect(textOf(() => onPipes('true', { env }))).toBe(MISSING);
  expect(textOf(() => onTerminal('true', { env }))).toBe(
    'Unable to spawn true because:\nNo viable candidates found in PATH "/nonexistent"',
  );
});

test('the PATH in the text is quoted', () => {
  const env = { PATH: 'a"b\\c\n\u0001' };
  expect(textOf(() => onTerminal('true', { env }))).toBe(
    'Unable to spawn true because:\nNo viable candidates found in PATH "a\\"b\\\\c\\n\\u{1}"',
  );
});

test('a search passes over what cannot be executed and says so only when nothing else is found', () => {
  expect(onPipes('tool', { env: { PATH: `${folder}/locked:${folder}/shadow:${folder}/bin` } })).toBe(
    `${folder}/bin/tool`,
  );
  expect(textOf(() => onPipes('tool', { env: { PATH: `${folder}/shadow:/nonexistent` } }))).toBe(DENIED);
  expect(textOf(() => onPipes('tool', { env: { PATH: `${folder}/locked:/etc/passwd` } }))).toBe(DENIED);
  expect(textOf(() => onPipes('loop', { env: { PATH: `${folder}:/usr/bin` } }))).toBe(
    'Symbolic link loop (os error 40)',
  );
});

test('a path is not looked up in the PATH', () => {
  expect(onPipes('bin/tool', { env: {} })).toBe('bin/tool');
  expect(onTerminal('./here', { env: {} })).toBe('./here');
  expect(onTerminal(`${folder}/here`, { env: {} })).toBe(`${folder}/here`);
});

test.each([
  ['missing', '/nonexistent/prog', MISSING],
  ['below a file', '/etc/passwd/prog', NO_FOLDER],
  ['not executable', '/etc/passwd', DENIED],
  ['a folder', '/tmp', DENIED],
])('an absolute path that is %s gives the error of the system on pipes and terminals', (_case, program, text) => {
  expect(textOf(() => onPipes(program))).toBe(text);
  expect(textOf(() => onTerminal(program))).toBe(text);
});

test('a relative path that is missing has its own text on a terminal', () => {
  expect(textOf(() => onPipes('./nope'))).toBe(MISSING);
  expect(textOf(() => onTerminal('./nope'))).toBe(`Unable to spawn ${folder}/./nope because it does not exist`);
  expect(textOf(() => onTerminal('./nope', { cwd: '/' }))).toBe('Unable to spawn /./nope because it does not exist');
  expect(textOf(() => onTerminal('./data'))).toBe(DENIED);
});

test('an empty program is missing', () => {
  expect(textOf(() => onPipes(''))).toBe('missing program for pipe spawn');
  expect(textOf(() => onTerminal('', { cwd: '/nonexistent' }))).toBe('missing program for PTY spawn');
});

test('a folder that is missing or none fails pipes and terminals alike, before the program is looked at', () => {
  for (const start of [onPipes, onTerminal]) {
    expect(textOf(() => start('true', { cwd: `${folder}/nope` }))).toBe(MISSING);
    expect(textOf(() => start('/nonexistent/prog', { cwd: `${folder}/data` }))).toBe(NO_FOLDER);
  }
});

test('a NUL byte is refused wherever it hides', () => {
  const inArguments = 'nul byte found in provided data';
  expect(textOf(() => onPipes('a\0b'))).toBe(inArguments);
  expect(textOf(() => onPipes('true', { argv: ['true', 'x\0'] }))).toBe(inArguments);
  expect(textOf(() => onPipes('true', { arg0: '\0' }))).toBe(inArguments);
  expect(textOf(() => onPipes('true', { cwd: '/tmp\0' }))).toBe(inArguments);
  for (const start of [onPipes, onTerminal]) {
    expect(textOf(() => start('true', { env: { 'A\0': 'b' } }))).toBe('data provided contains a nul byte');
    expect(textOf(() => start('true', { env: { A: 'b\0' } }))).toBe('data provided contains a nul byte');
  }
});
