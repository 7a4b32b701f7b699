/** `farhand doctor`: what this machine can do, which parts are in use, and what does not work here. */
import { release } from 'node:os';
import { describeSpawner } from '../../server/index.ts';
import { parseOptions } from '../options.ts';
import { VERSION } from '../version.ts';
import { readSpawner, SERVE_OPTIONS } from './serve-options.ts';

export async function doctor(args: readonly string[]): Promise<number> {
  const options = parseOptions(
    [{ name: 'json', help: 'print JSON' }, ...SERVE_OPTIONS.filter(({ name }) => name === 'spawner')],
    args,
  );
  const spawner = await describeSpawner(readSpawner(options));
  const report = {
    version: VERSION,
    node: process.version,
    platform: `${process.platform} ${process.arch}, kernel ${release()}`,
    spawner: spawner.name,
    spawnerReason: spawner.reason,
    spawnerLimits: spawner.limits,
    terminal: spawner.name === 'native' ? 'yes, by the native addon' : await terminalSupport(),
    sandbox: 'none: commands with a sandbox policy other than disabled or external are refused',
  };
  process.stdout.write(options.has('json') ? `${JSON.stringify(report, null, 2)}\n` : toText(report));
  return 0;
}

type Report = { spawnerLimits: readonly string[]; spawnerReason: string; spawner: string } & Record<string, unknown>;

function toText({ spawnerLimits, spawnerReason, spawner, ...rest }: Report): string {
  const lines = [...Object.entries(rest), ['spawner', `${spawner} (${spawnerReason})`]];
  const limits = spawnerLimits.map((limit) => `             - ${limit}`);
  return [...lines.map(([name, value]) => `${`${name}:`.padEnd(12)} ${value}`), ...limits, ''].join('\n');
}

async function terminalSupport(): Promise<string> {
  try {
    await import('@lydell/node-pty');
    return 'yes, by the package @lydell/node-pty';
  } catch {
    return 'no: the optional package @lydell/node-pty is not installed or does not load here';
  }
}
