/**
 * What it costs to read messages strictly instead of by JSON.parse alone: the time of both for the cheapest request,
 * and the difference as a part of the time and the CPU of such a request. At most 5 % of the rate may go into strictness.
 * Run it after a build.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { decode } from '../dist/wire/decode.js';
import { killAll, ourRecipe, root, startServer } from './servers.mjs';
import { median } from './statistics.mjs';
import { workloads } from './workloads/no-op.mjs';

const MAX_SHARE = 0.05;
const ROUNDS = 15;
const CALLS = 200_000;
const request = Buffer.from('{"id":4711,"method":"environment/status","params":{}}');

function nsPerCall(work) {
  const begin = process.hrtime.bigint();
  for (let call = 0; call < CALLS; call += 1) work();
  return Number(process.hrtime.bigint() - begin) / CALLS;
}

async function measureNoOp() {
  mkdirSync(join(root, '.interop'), { recursive: true });
  const runFolder = mkdtempSync(join(root, '.interop', 'bench-'));
  process.on('exit', () => {
    killAll();
    rmSync(runFolder, { recursive: true, force: true });
  });
  const server = await startServer(ourRecipe({ runFolder }));
  const [noOp] = workloads;
  const values = await noOp.run(server, 1);
  await server.stop();
  return noOp.metrics.map(({ name, unit }, at) => ({ name, unit, value: values[at] }));
}

const strict = [];
const plain = [];
for (let round = 0; round < ROUNDS; round += 1) {
  strict.push(nsPerCall(() => decode(request)));
  plain.push(nsPerCall(() => JSON.parse(request.toString())));
}
const extraNs = median(strict.map((ns, round) => ns - plain[round]));
console.log(
  `decode ${median(strict).toFixed(0)} ns, JSON.parse ${median(plain).toFixed(0)} ns, difference ${extraNs.toFixed(0)} ns`,
);
for (const { name, unit, value } of await measureNoOp()) {
  const wholeNs = unit === '/s' ? 1e9 / value : value * 1000;
  const share = extraNs / wholeNs;
  const verdict = unit !== '/s' ? '' : share <= MAX_SHARE ? ' (within 5 %)' : ' (MORE than 5 %)';
  console.log(`${name}: ${(share * 100).toFixed(1)} % of ${wholeNs.toFixed(0)} ns per request${verdict}`);
}
