/** A connection that breaks in the middle of a command. */
import { expect, test } from 'vitest';
import { run } from './support/model.ts';
import { finish, MARKER, newWord, openOverWebSocket } from './support/stage.ts';

test('a command outlives a cut connection and none of its output is lost or doubled', async () => {
  const stage = await openOverWebSocket();
  const { model, cue, tap, recording, marker } = stage;
  const word = newWord();
  const tick = (name: string): string => `tick-${name}-42-${word}-${marker}`;
  const print = (name: string): string =>
    `echo tick-${name}-$((6*7))-${word}-$${MARKER}; say said-${name}; wait_for_cue; `;
  const steps = ['delivered', 'withheld', 'detached', 'resumed'];
  const call = run(cue.script(word, `${steps.map(print).join('')}exit 6`));

  await model.call(call);
  const performer = await cue.performer(word);
  const { processId, chunk: delivered } = await recording.pushed(tick('delivered'));
  // Printed and sent by the server, but never received by the client.
  tap.hold();
  performer.go();
  const { chunk: withheld } = await recording.pushed(tick('withheld'));
  // Printed while there is no connection, and the client knocks in vain.
  tap.refuse();
  tap.cut();
  performer.go();
  await performer.said('said-detached');
  await tap.attempts.first('the client to try again', (attempt) => (attempt === 'refused' ? attempt : undefined));
  tap.accept();
  // Printed once the client has caught up.
  const reading = await recording.log.first('a read on a new connection', (entry) =>
    entry.method === 'process/read' ? entry : undefined,
  );
  await recording.log.first('its result', ({ connection, from, id }) =>
    connection === reading.connection && from === 'server' && id === reading.id ? id : undefined,
  );
  performer.go();
  const resumed = await recording.pushed(tick('resumed'));
  performer.go();

  const [told = ''] = await model.told(call);
  expect(told.match(/tick-\S+/g)).toEqual(steps.map(tick));
  expect(told).toContain('exited with code 6');

  const after = newWord();
  expect(await model.ask(run(`echo after-$((6*7))-${after}-$${MARKER}`))).toContain(`after-42-${after}-${marker}`);
  await finish(stage, { handshakes: 2 });

  const sessionId = recording.handshakes()[0]?.sessionId;
  expect(recording.handshakes()).toEqual([
    { connection: 1, resumeSessionId: null, sessionId },
    { connection: 2, resumeSessionId: sessionId, sessionId },
  ]);
  const [read] = recording.reads(processId);
  expect(read?.connection).toBe(2);
  expect(read?.afterSeq).toBe(delivered.seq);
  expect(read?.chunks.map(({ seq }) => seq)).toContain(withheld.seq);
  expect(resumed.connection).toBe(2);
  expect(recording.output(processId, 'stdout').toString()).toBe(steps.map((name) => `${tick(name)}\n`).join(''));
});
