/** Several tool calls in one response of the model. */
import { expect, test } from 'vitest';
import { run } from './support/model.ts';
import { finish, MARKER, newWord, openOverWebSocket } from './support/stage.ts';

test('three commands called for at once run at the same time and each answers its own call', async () => {
  const stage = await openOverWebSocket();
  const { model, cue, recording, marker } = stage;
  const parts = [1, 2, 3].map((number) => {
    const word = newWord();
    const script = `wait_for_cue; echo part-$((${number}*7))-${word}-$${MARKER}; exit ${number}`;
    return { number, word, line: `part-${number * 7}-${word}-${marker}`, call: run(cue.script(word, script)) };
  });
  const calls = parts.map(({ call }) => call);
  await model.call(...calls);
  // None of them ends before all of them run.
  const performers = await Promise.all(parts.map(({ word }) => cue.performer(word)));
  for (const performer of performers) performer.go();
  const told = await model.told(...calls);
  for (const [index, { number, line }] of parts.entries()) {
    expect(told[index]?.match(/part-\S+/g)).toEqual([line]);
    expect(told[index]).toContain(`exited with code ${number}`);
  }
  await finish(stage);
  for (const { word, line } of parts) {
    expect(recording.output(recording.startOf(word).processId, 'stdout').toString()).toBe(`${line}\n`);
  }
});
