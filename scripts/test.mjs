// Everything `npm test` means: types, lint, then the tests. With arguments, only the tests they name.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(join(dirname(fileURLToPath(import.meta.url)), '..'));
const VITEST = 'node_modules/vitest/vitest.mjs';
const PORTABLE = 'tests with the portable spawner';
const chosen = process.argv.slice(2);
const steps = [
  ...(chosen.length > 0
    ? []
    : [
        ['types', 'node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.test.json'],
        ['lint', 'node_modules/@biomejs/biome/bin/biome', 'ci', '--colors=off', '.'],
      ]),
  ['tests', VITEST, 'run', ...chosen],
  // What serves where the native spawner cannot be built or loaded must behave the same, its documented limits aside.
  ...(chosen.length > 0 ? [] : [[PORTABLE, VITEST, 'run', 'test/scenarios', 'test/golden', 'test/seeds']]),
];
for (const [what, ...command] of steps) {
  console.log(`== ${what}`);
  const environment = what === PORTABLE ? { ...process.env, FARHAND_TEST_SPAWNER: 'portable' } : process.env;
  const { status, signal } = spawnSync(process.execPath, command, { stdio: 'inherit', env: environment });
  if (status !== 0) {
    console.error(`${what} failed (${status ?? signal})`);
    process.exit(status || 1);
  }
}
