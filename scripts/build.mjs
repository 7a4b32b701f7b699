// Builds dist/: the library as ES modules with types (tsc), and the CLI as one CommonJS file (esbuild), because a
// bundle starts several times faster than a tree of modules.
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

process.chdir(join(dirname(fileURLToPath(import.meta.url)), '..'));
rmSync('dist', { recursive: true, force: true });

const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'], {
  stdio: 'inherit',
});
if (tsc.status !== 0) process.exit(tsc.status ?? 1);

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
/** Loaded on use, each from a file of its own: Node compiles all of a file before it runs the first line of it. */
const LAZY = {
  engine: 'src/server/engine.ts',
  websocket: 'ws',
  log: 'pino',
};

const options = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  supported: { 'dynamic-import': false }, // A plain require: Node's loader for modules costs tens of milliseconds.
  legalComments: 'none',
  mainFields: ['module', 'main'],
  conditions: ['node', 'import', 'module'],
  external: ['*.node', 'bufferutil', 'utf-8-validate', '@lydell/node-pty'],
  define: { 'import.meta.url': '__import_meta_url', FARHAND_VERSION: JSON.stringify(version) },
};
const URL_OF_FILE = "const __import_meta_url=require('node:url').pathToFileURL(__filename).href;";

/** Dynamic imports of what is in LAZY become requires of those files. */
const lazyFiles = {
  name: 'lazy-files',
  setup({ onResolve }) {
    onResolve({ filter: /.*/ }, ({ kind, path }) => {
      if (kind !== 'dynamic-import') return undefined;
      const name = Object.keys(LAZY).find((key) => LAZY[key] === path || basename(LAZY[key]) === basename(path));
      return name === undefined ? undefined : { path: `./${name}.cjs`, external: true };
    });
  },
};

await build({
  ...options,
  entryPoints: ['src/cli/main.ts'],
  outfile: 'dist/cli.cjs',
  banner: { js: `#!/usr/bin/env node\n${URL_OF_FILE}` },
  plugins: [lazyFiles],
});
for (const [name, entry] of Object.entries(LAZY)) {
  await build({
    ...options,
    entryPoints: [entry],
    outfile: `dist/${name}.cjs`,
    banner: { js: URL_OF_FILE },
    plugins: [lazyFiles],
  });
}
chmodSync('dist/cli.cjs', 0o755);
