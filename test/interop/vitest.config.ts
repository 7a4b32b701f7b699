/** The interop suite's own run: one file at a time, because each test starts a server and a client of its own. */
import { defineConfig } from 'vitest/config';

// biome-ignore lint/style/noDefaultExport: vitest takes its settings from the default export.
export default defineConfig({
  test: {
    pool: 'forks',
    fileParallelism: false,
    include: ['test/interop/**/*.test.ts'],
    setupFiles: ['test/support/leak-check.ts'],
    // Above every wait inside a test, so that the wait that failed is what gets reported.
    testTimeout: 60_000,
    hookTimeout: 30_000,
  },
});
