import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    pool: 'forks',
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/interop/**', 'node_modules/**'],
    setupFiles: ['test/support/leak-check.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
