/** The replayer itself: what it lets pass and what it must not, with recordings played back and spoilt on the way. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type JsonObject, member, parseObject } from './json.ts';
import { playback } from './playback.ts';
import { replay } from './replay.ts';
import { readTranscript, type Step, type Transcript } from './transcript.ts';

/** Replays a recording against a server that says something else. */
async function replayAgainst(transcript: Transcript, said: Transcript): Promise<void> {
  await replay({ server: playback(said), transcript, plan: {}, timeoutMs: 50 });
}

const edit = (transcript: Transcript, line: number, change: (text: string) => string[]): Transcript => ({
  ...transcript,
  steps: transcript.steps.flatMap((step) => {
    return step.line === line ? change(step.text).map((text) => ({ ...step, text })) : [step];
  }),
});

const editObject = (change: (message: JsonObject) => JsonObject) => (text: string) => {
  return [JSON.stringify(change(parseObject(text) ?? {}))];
};

const reversed = (value: JsonObject): JsonObject => Object.fromEntries(Object.entries(value).reverse());

const UNSPOILT = [
  'process-basic',
  'process-stdin',
  'malformed-envelopes',
  'unexpected-error',
  'handshake',
  'concurrency-inline',
];

describe('a faithful server', () => {
  test.each(UNSPOILT)('that plays back %s passes', async (scenario) => {
    const transcript = readTranscript(scenario);
    await expect(replayAgainst(transcript, transcript)).resolves.toBeUndefined();
  });

  test('may cut output into other chunks and exit earlier or later', async () => {
    const transcript = readTranscript('process-basic');
    const cuts = fc.record({ out: fc.nat(3), err: fc.nat(4), exitAt: fc.nat(4) });
    await fc.assert(
      fc.asyncProperty(cuts, async ({ out, err, exitAt }) => {
        await replayAgainst(transcript, recut(transcript, ['hi\n', out], ['err\n', err], exitAt));
      }),
      { numRuns: 50 },
    );
  });
});

describe('a server that differs is caught:', () => {
  const spoilt: [string, string, number, (text: string) => string[]][] = [
    ['another error code', 'process-stdin', 15, (text) => [text.replace('-32602', '-32603')]],
    ['another error text', 'process-stdin', 15, (text) => [text.replace('empty', 'blank')]],
    ['another id', 'process-stdin', 15, (text) => [text.replace('"id":124', '"id":999')]],
    ['the members of an error in another order', 'process-stdin', 15, editObject(reversed)],
    ['the members of a result in another order', 'process-basic', 3, editObject(reversed)],
    ['a member more', 'process-basic', 3, editObject((message) => ({ ...message, more: 1 }))],
    ['a space in the text', 'process-basic', 3, (text) => [text.replace('"result":', '"result": ')]],
    ['no answer', 'process-basic', 3, () => []],
    ['two answers', 'process-basic', 9, (text) => [text, text]],
    ['another parse error', 'malformed-envelopes', 6, (text) => [text.replace('column 2', 'column 3')]],
    ['a large id rounded', 'malformed-envelopes', 50, (text) => [text.replace('807', '808')]],
    ['the environment in another order', 'handshake', 6, editObject(reverseInfo)],
    [
      'a capability that is a number',
      'handshake',
      6,
      (text) => [text.replace('"fsWatchMissing":true', '"fsWatchMissing":1')],
    ],
    [
      'a session id that is no UUID',
      'handshake',
      3,
      (text) => [text.replace(/"sessionId":"[^"]+"/, '"sessionId":"1"')],
    ],
    ['another exit code', 'process-basic', 4, (text) => [text.replace('"exitCode":3', '"exitCode":4')]],
    ['no exit', 'process-basic', 4, () => []],
    ['a gap in seq', 'process-basic', 7, (text) => [text.replace('"seq":4', '"seq":5')]],
    ['a seq used twice', 'process-basic', 6, (text) => [text.replace('"seq":3', '"seq":2')]],
    ['the members of an event in another order', 'process-basic', 5, editObject(reverseParams)],
    ['output on another stream', 'process-basic', 6, (text) => [text.replace('stderr', 'stdout')]],
    ['other output', 'process-basic', 5, (text) => [text.replace('aGkK', 'aGoK')]],
    ['output after closed', 'process-basic', 7, (text) => [text, outputOf('basic', 5)]],
    ['a notification nobody knows', 'process-basic', 7, (text) => [text, '{"method":"process/bogus","params":{}}']],
    ['an event before the start is answered', 'process-basic', 3, (text) => [outputOf('basic', 1), text]],
    ['output of another process', 'process-basic', 7, (text) => [text, outputOf('other', 1)]],
    ['another nextSeq', 'process-basic', 9, (text) => [text.replace('"nextSeq":5', '"nextSeq":4')]],
    ['a chunk missing from a read', 'process-basic', 9, (text) => [text.replace(/,\{"seq":3[^}]*\}/, '')]],
    ['a read that disagrees with the events', 'process-basic', 9, (text) => [text.replace('aGkK', 'aGoK')]],
    [
      'the members of a chunk in another order',
      'process-basic',
      9,
      (text) => [text.replace('"seq":2,"stream":"stdout"', '"stream":"stdout","seq":2')],
    ],
    ['a connection closed in another way', 'unexpected-error', 6, () => ['<close 1000>']],
    ['a connection left open', 'unexpected-error', 6, () => []],
  ];

  test.each(spoilt)('%s (%s line %i)', async (_, scenario, line, change) => {
    const transcript = readTranscript(scenario);
    const said = edit(transcript, line, change);
    expect(said).not.toEqual(transcript);
    await expect(replayAgainst(transcript, said)).rejects.toThrow();
  });

  test('answers in another order', async () => {
    const transcript = readTranscript('concurrency-inline');
    const [first, second] = transcript.steps.filter(({ line }) => line === 12 || line === 13);
    const swap = (step: Step): string => ({ 12: second?.text, 13: first?.text })[step.line] ?? step.text;
    const said = { ...transcript, steps: transcript.steps.map((step) => ({ ...step, text: swap(step) })) };
    await expect(replayAgainst(transcript, said)).rejects.toThrow('too late');
  });
});

function outputOf(processId: string, seq: number): string {
  return JSON.stringify({ method: 'process/output', params: { processId, seq, stream: 'stdout', chunk: 'aGkK' } });
}

function reverseParams(message: JsonObject): JsonObject {
  return { ...message, params: reversed(member(message, 'params')) };
}

function reverseInfo(message: JsonObject): JsonObject {
  return { ...message, result: reversed(member(message, 'result')) };
}

type Cut = [text: string, at: number];

/** process-basic with each stream cut in two at a place and the exit somewhere among the pieces. */
function recut(transcript: Transcript, stdout: Cut, stderr: Cut, exitAt: number): Transcript {
  const pieces = (stream: string, [text, at]: Cut): JsonObject[] =>
    [text.slice(0, at), text.slice(at)].filter(Boolean).map((piece) => ({ stream, chunk: btoa(piece) }));
  const output = [...pieces('stdout', stdout), ...pieces('stderr', stderr)];
  const exit = { exitCode: 3, sandboxDenied: false };
  const events: JsonObject[] = output.toSpliced(exitAt, 0, exit).map((event, index) => ({ seq: index + 1, ...event }));
  const closedSeq = events.length + 1;
  const notifications = [...events, { seq: closedSeq }].map(({ seq = 0, ...rest }) => {
    const method = 'chunk' in rest ? 'process/output' : 'exitCode' in rest ? 'process/exited' : 'process/closed';
    return JSON.stringify({ method, params: { processId: 'basic', seq, ...rest } });
  });
  const read = (message: JsonObject): JsonObject => {
    const chunks = events.filter((event) => 'chunk' in event);
    return { ...message, result: { ...member(message, 'result'), chunks, nextSeq: closedSeq + 1 } };
  };
  const [firstEvent = 0, ...others] = [4, 5, 6, 7];
  const withoutOthers = others.reduce((rest, line) => edit(rest, line, () => []), transcript);
  return edit(
    edit(withoutOthers, firstEvent, () => notifications),
    9,
    editObject(read),
  );
}
