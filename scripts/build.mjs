// Builds dist/: the library as ES modules with types (tsc), and the CLI as one CommonJS file (esbuild), because a
// bundle starts several times faster than a tree of modules.
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

process.chdir(join(dirname(fileURLToPath(import.meta.url)), '..'));
rmSync('dist', { recursive: true, force: true });

const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'], {
  stdio: 'inherit',
});
if (tsc.status !== 0) process.exit(tsc.status ?? 1);

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
await build({
  entryPoints: ['src/cli/main.ts'],
  outfile: 'dist/cli.cjs',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  legalComments: 'none',
  mainFields: ['module', 'main'],
  conditions: ['node', 'import', 'module'],
  external: ['*.node', 'bufferutil', 'utf-8-validate', '@lydell/node-pty'],
  define: { 'import.meta.url': '__import_meta_url', FARHAND_VERSION: JSON.stringify(version) },
  banner: { js: "#!/usr/bin/env node\nconst __import_meta_url=require('node:url').pathToFileURL(__filename).href;" },
});
chmodSync('dist/cli.cjs', 0o755);
