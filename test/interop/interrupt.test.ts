/** Ctrl-C: typed by the model at a command, and pressed by the person in front of Codex. */
import { expect, test } from 'vitest';
import { within } from './support/event-log.ts';
import { run, sessionIdIn, start, type } from './support/model.ts';
import { finish, MARKER, newWord, openOverWebSocket } from './support/stage.ts';

const CTRL_C = '\u0003';

// The shell gets round to its trap only when `sleep` is gone too: the interrupt must reach the whole group.
const trapping = (word: string): string =>
  `trap 'echo caught-$((6*7))-${word}-$${MARKER}; exit 9' INT; say ready; sleep 300; echo not interrupted`;

test.each([
  ['terminal', { tty: true, method: 'process/write', stream: 'pty' }],
  ['pipe', { tty: false, method: 'process/signal', stream: 'stdout' }],
] as const)('Ctrl-C to a command on a %s arrives as an interrupt', async (_kind, { tty, method, stream }) => {
  const stage = await openOverWebSocket();
  const { model, cue, recording } = stage;
  const word = newWord();
  const running = await model.ask(start(cue.script(word, trapping(word)), { tty }));
  const performer = await cue.performer(word);
  await performer.said('ready');
  const told = await model.ask(type(sessionIdIn(running), CTRL_C));
  expect(told).toContain(`caught-42-${word}-${stage.marker}`);
  expect(told).not.toContain('not interrupted');
  expect(told).toContain('exited with code 9');
  await performer.gone();
  await finish(stage);
  const { processId } = recording.startOf(word);
  expect(recording.calls(method).map(({ params }) => params)).toContainEqual(expect.objectContaining({ processId }));
  expect(recording.output(processId, stream).toString()).toContain(`caught-42-${word}-${stage.marker}`);
});

test('interrupting codex ends the command on the server with all its children', async () => {
  const { model, cue, codex, server, recording, marker } = await openOverWebSocket();
  const word = newWord();
  await model.call(run(cue.script(word, `echo up-$((6*7))-${word}-$${MARKER}; sleep 300`)));
  const performer = await cue.performer(word);
  const { processId } = await recording.pushed(`up-42-${word}-${marker}`);
  codex.signal('SIGINT');
  await performer.gone();
  await within('codex to end', codex.exit);
  expect(server.hasEnded).toBe(false);
  expect(recording.calls('process/terminate').map(({ params }) => params)).toContainEqual({ processId });
});
