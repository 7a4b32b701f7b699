/** One command through every way in which Codex can be told about a server, and once without any. */
import { expect, test } from 'vitest';
import { run } from './support/model.ts';
import {
  finish,
  MARKER,
  newWord,
  openOverStdio,
  openOverWebSocket,
  openWithoutServer,
  type Stage,
} from './support/stage.ts';

const command = (word: string): string =>
  `echo out-$((6*7))-${word}; echo err-$((6*8))-${word} >&2; echo marker=$${MARKER}; pwd; echo parent=$PPID; exit 3`;

const parentIn = (told: string): number => Number(/parent=(\d+)/.exec(told)?.[1]);

async function runCommand(stage: Stage, word: string): Promise<string> {
  const told = await stage.model.ask(run(command(word)));
  expect(told).toContain(`out-42-${word}`);
  expect(told).toContain(`err-48-${word}`);
  expect(told).toContain(`\n${stage.workspace}\n`);
  expect(told).toContain('exited with code 3');
  return told;
}

test.each(['variable', 'file'] as const)(
  'a server named by %s runs the command and the model gets its streams and exit code',
  async (by) => {
    const stage = await openOverWebSocket(by);
    const word = newWord();
    const told = await runCommand(stage, word);
    expect(told).toContain(`marker=${stage.marker}`);
    await finish(stage);
    const { processId, tty } = stage.recording.startOf(word);
    expect(tty).toBe(false);
    expect(stage.recording.output(processId, 'stdout').toString()).toBe(
      `out-42-${word}\nmarker=${stage.marker}\n${stage.workspace}\nparent=${parentIn(told)}\n`,
    );
    expect(stage.recording.output(processId, 'stderr').toString()).toBe(`err-48-${word}\n`);
  },
);

test('a server that codex starts itself runs the command and ends with codex', async () => {
  const stage = await openOverStdio();
  const told = await runCommand(stage, newWord());
  expect(told).toContain(`marker=${stage.marker}`);
  const serverPid = parentIn(told);
  expect(serverPid).not.toBe(stage.codex.pid);
  expect(isAlive(serverPid)).toBe(true);
  await finish(stage);
  // Nobody is told of the end of a process that is not its child, so this one wait has to ask again and again.
  await expect.poll(() => isAlive(serverPid), { interval: 20, timeout: 10_000 }).toBe(false);
});

test('without a server the marker is absent, so the marker does prove who did the work', async () => {
  const stage = await openWithoutServer();
  expect(await runCommand(stage, newWord())).toContain('marker=\n');
  await finish(stage);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
