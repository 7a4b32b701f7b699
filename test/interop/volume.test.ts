/** More output than any buffer on the way holds. */
import { expect, test } from 'vitest';
import { run } from './support/model.ts';
import { finish, MARKER, newWord, openOverWebSocket } from './support/stage.ts';

const LINES = 250_000;
const numbers = (lineEnd: string): string =>
  Array.from({ length: LINES }, (_, index) => `${index + 1}${lineEnd}`).join('');

test.each([
  ['pipe', { tty: false, stream: 'stdout', lineEnd: '\n' }],
  ['terminal', { tty: true, stream: 'pty', lineEnd: '\r\n' }],
] as const)(
  '1.6 MB printed to a %s arrive whole, and the model gets the two ends',
  async (_kind, { tty, stream, lineEnd }) => {
    const stage = await openOverWebSocket();
    const word = newWord();
    const ends = { first: `first-42-${word}`, last: `last-48-${word}-${stage.marker}` };
    const command = `echo first-$((6*7))-${word}; seq 1 ${LINES}; echo last-$((6*8))-${word}-$${MARKER}; exit 5`;
    const told = await stage.model.ask(run(command, { tty, max_output_tokens: 1000 }));
    expect(told).toContain(ends.first);
    expect(told).toContain(ends.last);
    expect(told).toContain('truncated');
    expect(told).toContain('exited with code 5');
    await finish(stage);
    const { processId } = stage.recording.startOf(word);
    const sent = stage.recording.output(processId, stream).toString();
    const expected = `${ends.first}${lineEnd}${numbers(lineEnd)}${ends.last}${lineEnd}`;
    expect(sent.length).toBe(expected.length);
    expect(sent === expected).toBe(true); // Not toBe: a difference in megabytes is not worth printing.
  },
);
