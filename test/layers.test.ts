/** Who may import whom, how long a file may be, and what one may not write: the rules of the layout as a test. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../src');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .sort();
const sources = files.filter((name) => !name.endsWith('.test.ts'));

const below = ['util', 'limits.ts', 'protocol', 'wire'];
const work = ['process', 'fs', 'http', 'sandbox'];

/** Layer -> what it may import besides itself: folders, or single files. */
const allowed: Record<string, string[]> = {
  util: [],
  'limits.ts': [],
  protocol: ['util', 'limits.ts'],
  wire: ['util', 'limits.ts'],
  process: ['util', 'limits.ts', 'protocol/errors.ts', 'sandbox'],
  fs: ['util', 'limits.ts', 'protocol/errors.ts', 'sandbox'],
  http: ['util', 'limits.ts', 'protocol/errors.ts'],
  sandbox: ['util', 'limits.ts', 'protocol/errors.ts'],
  transport: ['wire', 'util', 'limits.ts'],
  rpc: ['protocol', 'wire', 'transport/connection.ts', 'util', 'limits.ts'],
  server: [...below, ...work, 'transport', 'rpc'],
  client: [...below, 'transport', 'rpc'],
  cli: ['server/index.ts', 'transport/index.ts', 'protocol/index.ts'],
};

/** Packages each layer may load; Node's own modules are free for all but the pure layers. */
const packages: Record<string, RegExp> = {
  util: /^node:/,
  'limits.ts': /^$/,
  protocol: /^(zod\/mini|node:buffer)$/,
  wire: /^node:buffer$/,
  process: /^(node:|@lydell\/node-pty$)/,
  transport: /^(node:|ws$|jose$)/,
  rpc: /^(node:|zod\/mini$)/,
  server: /^node:/,
  cli: /^(node:|pino$|@lydell\/node-pty$)/,
};

const layerOf = (path: string): string => path.split('/')[0] ?? '';
const importsOf = (name: string): string[] =>
  ts.preProcessFile(readFileSync(join(root, name), 'utf8')).importedFiles.map(({ fileName }) => fileName);

function isAllowed(from: string, to: string): boolean {
  const layer = layerOf(from);
  if (!to.startsWith('.')) return packages[layer]?.test(to) ?? false;
  const target = relative(root, resolve(dirname(join(root, from)), to));
  return (
    layerOf(target) === layer ||
    (allowed[layer] ?? []).some((entry) => target === entry || target.startsWith(`${entry}/`))
  );
}

test('a layer imports only what is below it', () => {
  const bad = sources.flatMap((name) =>
    importsOf(name)
      .filter((to) => !isAllowed(name, to))
      .map((to) => `${name} -> ${to}`),
  );
  expect(bad).toEqual([]);
});

test('the import rule refuses what it should', () => {
  expect(isAllowed('process/process.ts', '../transport/connection.ts')).toBe(false);
  expect(isAllowed('wire/decode.ts', 'ws')).toBe(false);
  expect(isAllowed('cli/main.ts', '../server/exec/session.ts')).toBe(false);
  expect(isAllowed('server/serve.ts', '../rpc/dispatcher.ts')).toBe(true);
});

test('no file is longer than 400 lines', () => {
  const long = files.filter((name) => readFileSync(join(root, name), 'utf8').split('\n').length > 401);
  expect(long).toEqual([]);
});

test('the environment is read in the command line only', () => {
  const readers = sources.filter(
    (name) => layerOf(name) !== 'cli' && readFileSync(join(root, name), 'utf8').includes('process.env'),
  );
  expect(readers).toEqual([]);
});

test('only entry points are called index, and nothing is exported by default', () => {
  const entries = ['protocol/index.ts', 'server/index.ts', 'transport/index.ts'];
  expect(sources.filter((name) => name.endsWith('index.ts'))).toEqual(entries);
  expect(sources.filter((name) => /^export default/m.test(readFileSync(join(root, name), 'utf8')))).toEqual([]);
});
