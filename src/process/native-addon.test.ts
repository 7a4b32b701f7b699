import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasNative, nativeAddon } from '../../test/support/native.ts';
import { loadNativeAddon, type NativeAddon, type NativeRequest, probeNative } from './native-addon.ts';

test('a host without the addon is told why', () => {
  expect(probeNative(() => loadNativeAddon('/nonexistent/farhand.node'))).toEqual({
    ok: false,
    reason: "Cannot find module '/nonexistent/farhand.node'",
  });
});

test('a file that is no addon, or none of ours, is refused', () => {
  const folder = mkdtempSync(join(tmpdir(), 'farhand-native-'));
  const broken = join(folder, 'broken.node');
  writeFileSync(broken, 'not a library');
  expect(probeNative(() => loadNativeAddon(broken))).toEqual({ ok: false, reason: expect.stringContaining(broken) });
  const other = join(folder, 'other.cjs');
  writeFileSync(other, 'exports.Child = class {};');
  expect(probeNative(() => loadNativeAddon(other))).toEqual({
    ok: false,
    reason: 'the native addon is from another version',
  });
  rmSync(folder, { recursive: true });
});

test('a kernel that is too old is told by what it lacks', () => {
  const old: NativeAddon = {
    Child: class {
      constructor() {
        throw new Error('must not be tried');
      }
    } as unknown as NativeAddon['Child'],
    missingFeature: () => 'close_range with CLOSE_RANGE_CLOEXEC',
  };
  expect(probeNative(() => old)).toEqual({
    ok: false,
    reason: 'this kernel has no close_range with CLOSE_RANGE_CLOEXEC; Linux 5.11 or newer is needed',
  });
});

describe.skipIf(!hasNative)('the addon', () => {
  const block = (...strings: string[]): Buffer => Buffer.from(strings.map((text) => `${text}\0`).join(''));
  const request: NativeRequest = {
    strings: block('/bin/true', '/', 'true', 'A=1'),
    argumentCount: 1,
    variableCount: 1,
    inputPipe: false,
    terminal: false,
    rows: 0,
    cols: 0,
    descriptors: new Int32Array(),
  };
  const create = (changes: object) => new (nativeAddon().Child)({ ...request, ...changes });

  test('is accepted on a kernel that runs these tests', () => {
    expect(probeNative(nativeAddon)).toEqual({ ok: true, addon: nativeAddon() });
  });

  test.each([
    ['folder', { strings: block('/bin/true', '/nonexistent', 'true', 'A=1') }, -2],
    ['exec', { strings: block('/etc/passwd', '/', 'true', 'A=1') }, -13],
    ['descriptors', { descriptors: Int32Array.from([3, 99_999]) }, -9],
    ['descriptors', { descriptors: Int32Array.from([2_000_000_000, 0]) }, expect.any(Number)],
  ])('says at which stage and with which number a start failed: %s', (stage, changes, errno) => {
    let failure: unknown;
    try {
      create(changes);
    } catch (error) {
      failure = error;
    }
    expect(failure).toMatchObject({ errno, stage });
  });

  test.each<[string, object]>([
    ['no strings', { strings: undefined }],
    ['strings of another kind', { strings: new Uint16Array(8) }],
    ['too few strings', { strings: block('/bin/true', '/') }],
    ['too many strings', { strings: block('/bin/true', '/', 'true', 'A=1', 'B=2') }],
    ['a string without its end', { strings: Buffer.from('/bin/true\0/\0true\0A=1') }],
    ['no bytes at all', { strings: Buffer.alloc(0) }],
    ['no argument', { argumentCount: 0 }],
    ['a huge count of arguments', { argumentCount: 4_294_967_295 }],
    ['a huge count of variables', { variableCount: 4_294_967_295 }],
    ['a size beyond the kernel', { rows: 65_536 }],
    ['half a pair', { descriptors: Int32Array.from([3]) }],
    ['a standard stream as target', { descriptors: Int32Array.from([2, 0]) }],
    ['a negative source', { descriptors: Int32Array.from([3, -1]) }],
    ['a flag that is none', { terminal: 1 }],
  ])('refuses a request with %s and starts nothing', (_case, changes) => {
    expect(() => create(changes)).toThrow(TypeError);
  });

  test('survives every kind of nonsense', () => {
    const { Child } = nativeAddon();
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom(...Object.keys(request)), (value, member) => {
        // A valid value is not nonsense.
        fc.pre(typeof value !== 'number' && typeof value !== 'boolean');
        expect(() => Reflect.construct(Child, [{ ...request, [member]: value }])).toThrow();
        expect(() => Reflect.construct(Child, [value])).toThrow();
      }),
    );
    for (const name of ['begin', 'pause', 'resume', 'write', 'closeInput', 'closeStreams', 'resize'] as const) {
      const method = Child.prototype[name];
      expect(() => Reflect.apply(method, {}, []), name).toThrow(TypeError);
      expect(() => Reflect.apply(method, Child.prototype, []), name).toThrow(TypeError);
    }
    expect(() => Reflect.apply(Child, undefined, [request])).toThrow();
  });

  test('tells after begin of streams that were closed before', async () => {
    const child = create({ strings: block('/bin/sleep', '/', 'sleep', '100', 'A=1'), argumentCount: 2 });
    child.closeStreams();
    const events: number[] = [];
    await new Promise<void>((resolve) => {
      child.begin((...event) => {
        events.push(event[0]);
        if (event[0] === 2) process.kill(child.pid, 'SIGKILL'); // It runs: nothing else ended its streams.
        if (event[0] === 1) resolve();
      });
    });
    expect(events).toEqual([2, 1]);
  });

  test('refuses a second begin and values that are no bytes or size', async () => {
    const child = create({ strings: block('/bin/cat', '/', 'cat', 'A=1'), inputPipe: true });
    const refuse = (method: 'begin' | 'write' | 'resize', value: unknown) =>
      expect(() => Reflect.apply(child[method], child, [value])).toThrow(TypeError);
    refuse('begin', undefined);
    const over = new Promise<void>((resolve) => {
      child.begin((...event) => {
        if (event[0] === 1) resolve();
      });
    });
    refuse('begin', () => {});
    refuse('write', 'text');
    refuse('write', new Uint16Array(1));
    refuse('resize', { rows: -1 });
    child.closeInput();
    await over;
  });
});
