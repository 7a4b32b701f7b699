/**
 * Writes docs/protocol.md and docs/protocol.schema.json from the built contract, or with `--check` only says which of
 * them is stale and exits 1. `--dist DIR` reads another build than dist/.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, dist: { type: 'string', default: join(root, 'dist') } },
});

const { printProtocol } = await import(pathToFileURL(join(resolve(values.dist), 'protocol', 'print.js')).href);

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

for (const [name, content] of Object.entries(printProtocol())) {
  const file = join(root, 'docs', name);
  if (read(file) === content) continue;
  if (values.check) {
    console.error(`docs/${name} is stale: run \`npm run docs\``);
    process.exitCode = 1;
  } else {
    writeFileSync(file, content);
    console.error(`wrote docs/${name}`);
  }
}
