import { expect, test } from 'vitest';
import { createSpawner, describeSpawner } from './choose-spawner.ts';
import { type NativeAddon, type NativeProbe, probeNative } from './native-addon.ts';

const addon = { Child: class {}, missingFeature: () => null } as unknown as NativeAddon; // Chosen, never used.
const works = (): NativeProbe => ({ ok: true, addon });
const lacks = (): NativeProbe => ({ ok: false, reason: 'this kernel has no close_range' });

test('the native spawner serves where it works', () => {
  expect(createSpawner(undefined, works).name).toBe('native');
  expect(describeSpawner(undefined, works)).toMatchObject({ name: 'native', reason: 'the native addon works here' });
});

test('a kernel that is too old, or no addon, means portable, and the reason is told', () => {
  expect(createSpawner(undefined, lacks).name).toBe('portable');
  expect(describeSpawner(undefined, lacks)).toMatchObject({
    name: 'portable',
    reason: 'this kernel has no close_range',
  });
  const old = (): NativeProbe => probeNative(() => ({ ...addon, missingFeature: () => 'pidfd' }));
  expect(describeSpawner(undefined, old).reason).toBe('this kernel has no pidfd; Linux 5.11 or newer is needed');
  const missing = (): NativeProbe =>
    probeNative(() => {
      throw new Error('the native addon is not built; scripts/native.mjs builds it');
    });
  expect(describeSpawner(undefined, missing)).toMatchObject({
    name: 'portable',
    reason: expect.stringMatching(/not built/),
  });
});

test('what is asked for is used, or refused with the reason', () => {
  expect(createSpawner('portable', works).name).toBe('portable');
  expect(createSpawner('native', works).name).toBe('native');
  expect(() => createSpawner('native', lacks)).toThrow(
    'the native spawner cannot be used here: this kernel has no close_range',
  );
});
