/** A peer that vanished without a word: its packets no longer arrive, and nobody told the server. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { dialWebSocket } from '../../src/transport/index.ts';
import { Disposables } from '../../src/util/disposables.ts';
import { TestClient } from '../support/client.ts';

const CLI = join(import.meta.dirname, '../../dist/cli.cjs');
const ip = (...args: string[]): void => void execFileSync('ip', args, { stdio: 'pipe' });

/** Network namespaces need root and iproute2; a machine without them cannot lose packets on purpose. */
function canMakeNetworks(): boolean {
  try {
    execFileSync('ip', ['-V'], { stdio: 'pipe' });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
}

/** Two numbers of an address that no interface has: another run, or what is left of one, may be on this machine. */
function freeNetwork(): string {
  const taken = execFileSync('ip', ['-4', '-o', 'addr'], { encoding: 'utf8' });
  const candidates = Array.from({ length: 128 }, (_, index) => `10.${64 + ((process.pid + index) % 128)}`);
  const free = candidates.find((network) => !taken.includes(` ${network}.`));
  if (free === undefined) throw new Error('no free network');
  return free;
}

const isRequired = process.env.CI === 'true';

test.runIf(canMakeNetworks() || isRequired)(
  'a session whose connection is half-open can be resumed within 5 s',
  { timeout: 60_000 },
  async () => {
    await using scene = new Disposables();
    const name = `farhand-${process.pid}`;
    const network = freeNetwork();
    ip('netns', 'add', name);
    scene.defer(() => ip('netns', 'del', name));
    // Two ways to the same host: one will go silent, the other stays.
    for (const [way, subnet] of [
      ['a', 1],
      ['b', 2],
    ] as const) {
      const near = `fh${way}${process.pid}`;
      ip('link', 'add', near, 'type', 'veth', 'peer', 'name', `fh${way}`, 'netns', name);
      // By hand: the dead connection's last packets keep the namespace, and with it the link, for minutes.
      scene.defer(() => ip('link', 'del', near));
      ip('addr', 'add', `${network}.${subnet}.1/24`, 'dev', near);
      ip('link', 'set', near, 'up');
      ip('-n', name, 'addr', 'add', `${network}.${subnet}.2/24`, 'dev', `fh${way}`);
      ip('-n', name, 'link', 'set', `fh${way}`, 'up');
    }
    const listen = ['serve', '--listen', 'ws://0.0.0.0:7000', '--allow-unauthenticated'];
    const server = spawn('ip', ['netns', 'exec', name, process.execPath, CLI, ...listen], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    scene.defer(async () => {
      server.kill();
      await once(server, 'close');
    });
    await once(createInterface({ input: server.stdout }), 'line');

    const lost = await new TestClient(await dialWebSocket(`ws://${network}.1.2:7000`)).initialize();
    scene.defer(() => lost.drop());
    await lost.start('p', ['sh', '-c', 'echo before; exec sleep 300']);
    await lost.notification(() => lost.output('p', 'stdout') === 'before\n');
    ip('link', 'set', `fha${process.pid}`, 'down'); // From here on no packet of this connection arrives, either way.

    const startedAt = performance.now();
    const found = await new TestClient(await dialWebSocket(`ws://${network}.2.2:7000`)).initialize(lost.sessionId);
    scene.defer(() => found.drop());
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    const { chunks } = await found.request<{ chunks: { chunk: string }[] }>('process/read', { processId: 'p' });
    expect(chunks.map(({ chunk }) => Buffer.from(chunk, 'base64').toString())).toEqual(['before\n']);
    await found.request('process/terminate', { processId: 'p' });
    expect((await found.finished('p')).exitCode).toBe(137);
  },
);
