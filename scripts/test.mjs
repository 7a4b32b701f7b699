// Everything `npm test` means: types, lint, then the tests. With arguments, only the tests they name.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(join(dirname(fileURLToPath(import.meta.url)), '..'));
const chosen = process.argv.slice(2);
const steps = [
  ...(chosen.length > 0
    ? []
    : [
        ['types', 'node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.test.json'],
        ['lint', 'node_modules/@biomejs/biome/bin/biome', 'ci', '--colors=off', '.'],
      ]),
  ['tests', 'node_modules/vitest/vitest.mjs', 'run', ...chosen],
];
for (const [what, ...command] of steps) {
  console.log(`== ${what}`);
  const { status, signal } = spawnSync(process.execPath, command, { stdio: 'inherit' });
  if (status !== 0) {
    console.error(`${what} failed (${status ?? signal})`);
    process.exit(status || 1);
  }
}
