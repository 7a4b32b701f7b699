/**
 * Plays the client's side of a recording against a server and holds the server to its recorded side. A client line is
 * sent when everything recorded before it has come, as the recording client did; two runs then differ only in what
 * plan.ts, normalise.ts and compare*.ts leave out.
 */
import { expandRequest } from './abbreviations.ts';
import { type Arrival, checkAnswerOrder } from './answer-order.ts';
import { compareAnswer, Mismatch } from './compare.ts';
import { compareRead, isRead } from './compare-read.ts';
import { EventLog } from './event-log.ts';
import { idText, type JsonObject, member, parseObject, shapeKey, shapeOf } from './json.ts';
import { type Answer, Peer, toEvent } from './peer.ts';
import type { Plan, Situation } from './plan.ts';
import type { GoldenServer } from './server.ts';
import { SessionIds } from './session-ids.ts';
import { Signal } from './signal.ts';
import type { Step, Transcript } from './transcript.ts';

export type ReplayOptions = {
  server: GoldenServer;
  transcript: Transcript;
  plan: Plan;
  timeoutMs: number;
};

/** Rejects with what differs and the line of the recording. */
export async function replay(options: ReplayOptions): Promise<void> {
  const run = new Replay(options);
  try {
    await run.play();
  } finally {
    await run.end();
  }
}

const RECORDED_PEER = /exec-server websocket 127\.0\.0\.1:40000/;
const FENCE = 'golden-fence';

class Replay {
  readonly #options: ReplayOptions;
  readonly #signal: Signal;
  readonly #peers = new Map<string, Peer>();
  readonly #sessions = new SessionIds();
  readonly #recordedLogs = new Map<string, EventLog>();
  readonly #actualLogs = new Map<string, EventLog>();
  /** Processes with recorded events that have not been waited for. */
  readonly #touched = new Set<string>();
  /** The recorded answers of each connection in order, as they arrived in this run. */
  readonly #arrivals = new Map<string, Arrival[]>();
  readonly #atTheEnd: (() => void)[] = [];
  readonly #shapes = new Map<string, string>();
  readonly #situation: Situation;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#signal = new Signal(options.timeoutMs);
    for (const { dir, text } of options.transcript.steps) {
      const message = dir === 's2c' ? parseObject(text) : undefined;
      if (message?.method !== undefined) this.#shapes.set(shapeKey(message), JSON.stringify(shapeOf(message)));
    }
    this.#situation = {
      server: options.server,
      peer: (name) => this.#peer(name),
      log: (processId) => this.#actualLogs.get(processId),
      mapSession: (recorded, actual) => this.#sessions.map(recorded, actual),
      until: async (what, look) => {
        await this.#signal.until(what, () => look() || undefined);
      },
    };
  }

  async play(): Promise<void> {
    const { plan, transcript } = this.#options;
    await plan.before?.(this.#situation);
    for (const step of transcript.steps) {
      try {
        await (step.dir === 'c2s' ? this.#send(step) : this.#expect(step));
      } catch (failure) {
        throw atLine(step, failure);
      }
    }
    await this.#catchUp();
    await this.#checkEnd();
  }

  async end(): Promise<void> {
    for (const peer of this.#peers.values()) await peer.drop();
  }

  async #send(step: Step): Promise<void> {
    await this.#catchUp();
    await this.#options.plan.waits?.[step.line]?.(this.#situation);
    const peer = await this.#peer(step.conn);
    for (const frame of expandRequest(this.#toActual(step.text))) peer.send(frame, step.binary);
  }

  async #expect(step: Step): Promise<void> {
    const peer = await this.#peer(step.conn);
    const expected = this.#sessions.translate(step.text.replace(RECORDED_PEER, peer.label));
    if (expected.startsWith('<')) await this.#expectEnd(expected, peer);
    else if (idText(expected) !== undefined) await this.#expectAnswer(step.conn, peer, expected);
    else this.#noteEvent(parseObject(expected) ?? {});
  }

  /** `<close 1006>` and `<process exit 0>`. */
  async #expectEnd(expected: string, peer: Peer): Promise<void> {
    await this.#catchUp();
    let actual = '<close 1006>';
    if (this.#options.plan.clientDrops || expected.startsWith('<process')) await peer.drop();
    else actual = `<close ${await peer.closed()}>`;
    if (expected.startsWith('<process')) actual = `<process exit ${await this.#options.server.exitStatus()}>`;
    if (actual !== expected) throw new Mismatch('the end differs', expected, actual);
  }

  async #expectAnswer(conn: string, peer: Peer, expected: string): Promise<void> {
    const id = idText(expected) ?? '';
    const answer = await this.#answer(peer, id, expected);
    this.#arrivals.set(conn, [...(this.#arrivals.get(conn) ?? []), { id, arrival: answer.arrival }]);
    const request = peer.request(id);
    const processId = String(request?.params.processId);
    if (request && isRead(expected) && isRead(answer.text)) {
      const { recordedLog, actualLog } = this.#logs(processId);
      const normalise = (text: string): string => this.#normalise(text, processId);
      const comparison = { expected, actual: answer.text, request, recordedLog, actualLog, normalise };
      this.#atTheEnd.push(compareRead(comparison));
      return;
    }
    this.#sessions.learn(expected, answer.text);
    compareAnswer(this.#sessions.translate(expected), answer.text);
    const started = request?.method === 'process/start' && expected.includes('"result":');
    if (started) this.#recordedLogs.set(processId, new EventLog());
  }

  /** A server notices a lost connection a little later; a client that wants its session asks again. */
  async #answer(peer: Peer, id: string, expected: string): Promise<Answer> {
    for (;;) {
      const answer = await peer.answer(id);
      const request = peer.request(id);
      const attached = request?.method === 'initialize' && answer.text.includes('"code":-32010');
      if (!attached || expected.includes('"code":-32010')) return answer;
      peer.send(JSON.stringify({ id: JSON.parse(id), ...request }));
    }
  }

  #noteEvent(message: JsonObject): void {
    const params = member(message, 'params');
    const processId = String(params.processId);
    const log = this.#recordedLogs.get(processId) ?? new EventLog();
    this.#recordedLogs.set(processId, log);
    log.add(Number(params.seq), toEvent(String(message.method), params));
    this.#touched.add(processId);
  }

  /** Waits until every process has come as far as the recording has. */
  async #catchUp(): Promise<void> {
    for (const processId of this.#touched) {
      await this.#signal
        .until(`events of ${processId}`, () => this.#hasCome(processId) || undefined)
        .catch((failure) => {
          throw failure instanceof Mismatch ? failure : new Mismatch(String(failure), ...this.#describe(processId));
        });
    }
    this.#touched.clear();
  }

  #hasCome(processId: string): boolean {
    const { recordedLog, actualLog } = this.#logs(processId);
    if (recordedLog.closedSeq !== undefined) {
      if (actualLog.closedSeq === undefined) return false;
      this.#checkSame(processId);
      return true;
    }
    if (recordedLog.exit && !actualLog.exit) return false;
    const outputs = actualLog.output();
    return [...recordedLog.output()].every(([stream, text]) =>
      this.#normalise(outputs.get(stream) ?? '', processId).startsWith(this.#normalise(text, processId)),
    );
  }

  #checkSame(processId: string): void {
    const [expected, actual] = this.#describe(processId);
    if (expected !== actual) throw new Mismatch(`the events of ${processId} differ`, expected, actual);
  }

  /** Output by stream and the exit, recorded and seen. */
  #describe(processId: string): [string, string] {
    const { recordedLog, actualLog } = this.#logs(processId);
    const describe = (log: EventLog): string => {
      const output = [...log.output()].map(([stream, text]) => [stream, this.#normalise(text, processId)]);
      return JSON.stringify({ output, exit: log.exit ?? null, closed: log.closedSeq !== undefined });
    };
    return [describe(recordedLog), describe(actualLog)];
  }

  async #checkEnd(): Promise<void> {
    for (const peer of this.#peers.values()) {
      if (peer.closedHow !== undefined) continue;
      await peer.ask(FENCE, 'environment/status', {}); // What was sent before this answer has arrived with it.
    }
    for (const [name, peer] of this.#peers) {
      peer.checkSeqs();
      const unrecorded = (this.#options.plan.unrecorded ?? []).map((id) => `{"id":${id},`);
      const leftovers = peer.leftovers().filter((text) => !unrecorded.some((start) => text.startsWith(start)));
      if (leftovers.length > 0)
        throw new Error(`connection ${name} got what was not recorded:\n${leftovers.join('\n')}`);
    }
    for (const processId of this.#actualLogs.keys()) this.#checkNothingMore(processId);
    for (const check of this.#atTheEnd) check();
    for (const answers of this.#arrivals.values()) checkAnswerOrder(answers, this.#options.plan.answerGroups);
  }

  /** A process may go on printing after the recording was cut, but it may not end, nor may there be another. */
  #checkNothingMore(processId: string): void {
    const { recordedLog, actualLog } = this.#logs(processId);
    const isSetUp = recordedLog.isEmpty && this.#options.plan.before;
    const hasEnded = (log: EventLog): boolean => log.exit !== undefined || log.closedSeq !== undefined;
    const isSame = recordedLog.isEmpty === actualLog.isEmpty && hasEnded(recordedLog) === hasEnded(actualLog);
    if (!isSetUp && !isSame) throw new Mismatch(`${processId} has other events`, ...this.#describe(processId));
  }

  async #peer(name: string): Promise<Peer> {
    const known = this.#peers.get(name);
    if (known) return known;
    const { server } = this.#options;
    const peer = await Peer.open((events) => server.connect(events), {
      signal: this.#signal,
      logs: this.#actualLogs,
      shapes: this.#shapes,
      strictOrder: server.kind === 'ours',
    });
    this.#peers.set(name, peer);
    if (this.#beginsInTheMiddle(name)) await peer.handshake();
    return peer;
  }

  /** A connection that is never initialized in the recording was so before it began. */
  #beginsInTheMiddle(name: string): boolean {
    const { steps } = this.#options.transcript;
    return !steps.some(({ dir, conn, text }) => {
      return dir === 'c2s' && conn === name && /^initialized?$/.test(String(parseObject(text)?.method));
    });
  }

  #logs(processId: string): { recordedLog: EventLog; actualLog: EventLog } {
    const recordedLog = this.#recordedLogs.get(processId) ?? new EventLog();
    const actualLog = this.#actualLogs.get(processId) ?? new EventLog();
    return { recordedLog, actualLog };
  }

  #normalise(text: string, processId: string): string {
    const { plan, server } = this.#options;
    return plan.normalise?.(text, processId, server) ?? text;
  }

  /** A request with the session ids and positions of this run instead of the recorded ones. */
  #toActual(text: string): string {
    const substituted = this.#sessions.translate(text);
    const message = parseObject(substituted);
    const { processId, afterSeq } = member(message ?? {}, 'params');
    const isPosition = Number.isSafeInteger(afterSeq) && Number(afterSeq) > 0;
    if (message?.method !== 'process/read' || !isPosition) return substituted;
    const { recordedLog, actualLog } = this.#logs(String(processId));
    const position = actualLog.seqLike(recordedLog, Number(afterSeq));
    if (position === undefined) throw new Error(`this run never was where the recording is after seq ${afterSeq}`);
    if (position === afterSeq) return substituted;
    return JSON.stringify({ ...message, params: { ...member(message, 'params'), afterSeq: position } });
  }
}

function atLine({ line, text }: Step, failure: unknown): Error {
  const reason = failure instanceof Error ? failure.message : String(failure);
  return new Error(`line ${line} (${text.slice(0, 120)}): ${reason}`, { cause: failure });
}
