/**
 * Sets up one test: server, tap, stand-in for the model, cue line, and the client in the middle; takes all of it down
 * afterwards, also when the test ran out of time, and prints what each of them saw when the test has failed.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { Disposables } from '../../../src/util/disposables.ts';
import type { Child } from './child.ts';
import { Codex, type Wiring } from './codex.ts';
import { Cue } from './cue.ts';
import { within } from './event-log.ts';
import { Model } from './model.ts';
import type { Recording } from './recording.ts';
import { serverCommand, startServer } from './server.ts';
import { Tap } from './tap.ts';

/** A variable that only the server has in its environment. */
export const MARKER = 'FARHAND_INTEROP_MARKER';

let open: Disposables | undefined;
let describeOpen = (): string => 'nothing was started';

afterEach(async ({ task }) => {
  const closing = open;
  open = undefined;
  if (task.result?.state === 'fail') console.error(describeOpen());
  await closing?.[Symbol.asyncDispose]();
});

/** A word that occurs nowhere else, in letters only so that no shell or terminal alters it. */
export const newWord = (): string =>
  randomBytes(8)
    .toString('hex')
    .replace(/\d/g, (digit) => 'ghijklmnop'[+digit] ?? '');

// What programs need and nothing that could steer them: no proxies, no tokens, no settings of an outer Codex.
function plainEnvironment(home: string): Record<string, string> {
  const kept = ['PATH', 'TMPDIR', 'LANG', 'USER', 'LOGNAME'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(kept), HOME: home };
}

/** Client and model; the server is wherever the wiring says. */
export type Stage = { model: Model; cue: Cue; codex: Child; marker: string; workspace: string };
/** A stage whose server is reached through the tap. */
export type TappedStage = Stage & { server: Child; tap: Tap; recording: Recording };

type Setting = { scope: Disposables; folder: string; marker: string; env: Record<string, string> };

function openSetting(): Setting {
  const scope = new Disposables();
  open = scope;
  describeOpen = () => 'the client was not started';
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'farhand-interop-')));
  scope.defer(() => rmSync(folder, { recursive: true, force: true }));
  return { scope, folder, marker: `served-${newWord()}`, env: plainEnvironment(folder) };
}

async function openClient({ scope, folder, marker, env }: Setting, wiring: Wiring): Promise<Stage> {
  const model = scope.use(await Model.open());
  const cue = scope.use(await Cue.open());
  const { child: codex } = scope.use(new Codex({ modelUrl: model.baseUrl, workspace: folder, env, wiring }));
  describeOpen = () =>
    `--- told to the model\n${model.summary()}\n--- codex\n${codex.lines.entries.join('\n')}\n${codex.stderr}`;
  return { model, cue, codex, marker, workspace: folder };
}

/** Codex with no server at all. */
export async function openWithoutServer(): Promise<Stage> {
  return await openClient(openSetting(), { by: 'none' });
}

/** Codex starts the server itself and talks to it over stdin and stdout. */
export async function openOverStdio(): Promise<Stage> {
  const setting = openSetting();
  const env = { [MARKER]: setting.marker };
  return await openClient(setting, { by: 'program', command: serverCommand('stdio'), cwd: setting.folder, env });
}

/** Codex is given the address of a running server, with the tap in between. */
export async function openOverWebSocket(by: 'variable' | 'file' = 'variable'): Promise<TappedStage> {
  const setting = openSetting();
  const { scope, folder, marker, env } = setting;
  const { child: server, url } = await startServer({ cwd: folder, env: { ...env, [MARKER]: marker } }, scope);
  const tap = scope.use(await Tap.open(url));
  const stage = await openClient(setting, { by, url: tap.url });
  const { recording } = tap;
  const describeClient = describeOpen;
  describeOpen = () => `--- messages\n${recording.summary()}\n${describeClient()}\n--- server\n${server.stderr}`;
  return { ...stage, server, tap, recording };
}

/**
 * Ends the turn and waits until Codex has ended, satisfied. Its status alone says nothing: it is 0 either way. A client
 * that could not understand a message connects anew and recovers, so the number of handshakes is part of the verdict.
 */
export async function finish(stage: Stage | TappedStage, expected = { handshakes: 1 }): Promise<void> {
  await stage.model.finish();
  const { code } = await within('codex to end', stage.codex.exit);
  expect(code).toBe(0);
  expect(stage.codex.lines.entries.at(-1)).toContain('"turn.completed"');
  if ('recording' in stage) expect(stage.recording.handshakes()).toHaveLength(expected.handshakes);
}
