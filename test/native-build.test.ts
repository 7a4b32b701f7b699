/** The script that builds the native addon, on a copy of its sources. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hasNative } from './support/native.ts';

const root = resolve(import.meta.dirname, '..');
let copy = '';

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'farhand-build-'));
  for (const name of readdirSync(join(root, 'native')).filter((file) => /\.[ch]$/.test(file))) {
    cpSync(join(root, 'native', name), join(copy, 'native', name));
  }
  cpSync(join(root, 'scripts/native.mjs'), join(copy, 'scripts/native.mjs'));
});
afterEach(() => rmSync(copy, { recursive: true }));

function build(env: Record<string, string> = {}): { status: number | null; output: string; built: bigint | undefined } {
  const run = spawnSync(process.execPath, [join(copy, 'scripts/native.mjs')], {
    encoding: 'utf8',
    env: { ...process.env, REQUIRE_NATIVE: '', ...env },
  });
  const addon = join(copy, 'native/build/Release/farhand.node');
  const built = existsSync(addon) ? statSync(addon, { bigint: true }).mtimeNs : undefined;
  return { status: run.status, output: run.stdout + run.stderr, built };
}

test('without a compiler it warns in one line and succeeds, unless the addon is required', () => {
  const warning = /^native addon not built \(\/nonexistent\/cc: ENOENT\); the portable spawner is used instead\n$/;
  const tried = build({ CC: '/nonexistent/cc' });
  expect(tried).toEqual({ status: 0, output: expect.stringMatching(warning), built: undefined });
  const required = build({ CC: '/nonexistent/cc', REQUIRE_NATIVE: '1' });
  expect(required).toEqual({ status: 1, output: expect.stringMatching(warning), built: undefined });
});

describe.skipIf(!hasNative)('with a compiler', () => {
  test('it builds without a word and even strictly, and again only when a source changed', () => {
    const first = build({ REQUIRE_NATIVE: '1' });
    expect(first).toEqual({ status: 0, output: '', built: expect.any(BigInt) });
    expect(build()).toEqual(first);
    appendFileSync(join(copy, 'native/exit.c'), '\n');
    const second = build();
    expect(second).toEqual({ status: 0, output: '', built: expect.any(BigInt) });
    expect(second.built).not.toBe(first.built);
    expect(readdirSync(join(copy, 'native/build/Release'))).toEqual(['farhand.node', 'farhand.node.stamp']);
  });

  test('what does not compile or load is not kept, nor is what was there before', () => {
    build();
    appendFileSync(
      join(copy, 'native/exit.c'),
      'int missing_elsewhere(void); int use(void) { return missing_elsewhere(); }\n',
    );
    const unloadable = build();
    expect(unloadable).toMatchObject({ status: 0, built: undefined });
    expect(unloadable.output).toMatch(/^native addon not built \(it does not load: .*missing_elsewhere\).*\n$/);
    appendFileSync(join(copy, 'native/exit.c'), 'not C\n');
    const broken = build();
    expect(broken).toMatchObject({ status: 0, built: undefined });
    expect(broken.output).toMatch(/native addon not built \(cc ended with 1\).*\n$/);
    expect(readdirSync(join(copy, 'native/build/Release'))).toEqual([]);
  });
});
