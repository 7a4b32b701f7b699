/**
 * One connection of a replay: sends what it is told and sorts what comes into answers by id and process events. Checks
 * at once what must hold for every message: compact text, known members in the known order, no gaps in seq.
 */
import { EventLog, type ProcessEvent } from './event-log.ts';
import { idText, type JsonObject, member, parseObject, shapeKey, shapeOf } from './json.ts';
import type { Signal } from './signal.ts';
import type { Wire, WireEvents } from './wire.ts';

export type Answer = { text: string; arrival: number };
export type SentRequest = { method: string; params: JsonObject };

export type PeerOptions = {
  signal: Signal;
  /** Process events as this run sees them, by process id. Shared by the connections of a replay. */
  logs: Map<string, EventLog>;
  /** How each notification of the recording is built, by method. */
  shapes: ReadonlyMap<string, string>;
  /** The reference now and then sends neighbours in the wrong order, or an event before its start; ours never may. */
  strictOrder: boolean;
};

export class Peer {
  readonly #options: PeerOptions;
  readonly #answers = new Map<string, Answer[]>();
  readonly #requests = new Map<string, SentRequest>();
  readonly #seqs = new Map<string, number[]>();
  /** Processes whose start has not been answered yet, and those of them that have had events all the same. */
  readonly #starting = new Set<string>();
  readonly #early = new Set<string>();
  #wire: Wire | undefined;
  #arrivals = 0;
  #closedHow: string | undefined;
  #sessionId: string | undefined;

  private constructor(options: PeerOptions) {
    this.#options = options;
  }

  static async open(connect: (events: WireEvents) => Promise<Wire>, options: PeerOptions): Promise<Peer> {
    const peer = new Peer(options);
    peer.#wire = await connect({
      text: (text) => peer.#onText(text),
      closed: (how) => {
        peer.#closedHow = how;
        options.signal.notify();
      },
    });
    return peer;
  }

  get label(): string {
    return this.#wire?.label ?? '';
  }

  get closedHow(): string | undefined {
    return this.#closedHow;
  }

  send(data: string | Buffer, binary = false): void {
    const message = typeof data === 'string' ? parseObject(data) : undefined;
    if (message && typeof message.method === 'string' && message.id !== undefined) {
      const params = member(message, 'params');
      this.#requests.set(JSON.stringify(message.id), { method: message.method, params });
      if (message.method === 'process/start') this.#starting.add(String(params.processId));
    }
    this.#wire?.send(data, { binary });
  }

  request(id: string): SentRequest | undefined {
    return this.#requests.get(id);
  }

  /** The next answer to this id; each is given out once. */
  async answer(id: string): Promise<Answer> {
    return await this.#options.signal.until(`an answer to ${id}`, () => {
      const answer = this.#answers.get(id)?.shift();
      if (!answer && this.#closedHow !== undefined)
        throw new Error(`closed (${this.#closedHow}) before answering ${id}`);
      return answer;
    });
  }

  /** A request of the harness's own; the text of its answer. */
  async ask(id: string, method: string, params: JsonObject): Promise<string> {
    this.send(JSON.stringify({ id, method, params }));
    return (await this.answer(JSON.stringify(id))).text;
  }

  /** The same, when only a result will do. */
  async call(id: string, method: string, params: JsonObject): Promise<JsonObject> {
    const text = await this.ask(id, method, params);
    const result = parseObject(text)?.result;
    if (result === undefined) throw new Error(`${method} of the harness failed: ${text}`);
    return member({ result }, 'result');
  }

  /** For recordings that begin after it. */
  async handshake(): Promise<void> {
    const { sessionId } = await this.call('golden-handshake', 'initialize', { clientName: 'golden' });
    this.#sessionId = String(sessionId);
    this.send(JSON.stringify({ method: 'initialized', params: {} }));
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  async closed(): Promise<string> {
    return await this.#options.signal.until('the server to close', () => this.#closedHow);
  }

  async drop(): Promise<void> {
    await this.#wire?.drop();
  }

  /** Answers nobody asked the peer about, for the check that there are none. */
  leftovers(): string[] {
    return [...this.#answers.values()].flat().map(({ text }) => text);
  }

  /** Seqs of each process as they came over this connection. */
  checkSeqs(): void {
    for (const [processId, seqs] of this.#seqs) {
      const sorted = seqs.toSorted((left, right) => left - right);
      const first = sorted[0] ?? 0;
      const gapless = sorted.every((seq, index) => seq === first + index);
      const ordered = !this.#options.strictOrder || seqs.every((seq, index) => seq === sorted[index]);
      if (!gapless || !ordered) throw new Error(`seqs of ${processId} arrived as ${seqs.join(' ')}`);
    }
  }

  #onText(text: string): void {
    try {
      const id = idText(text);
      if (id === undefined) this.#onNotification(text);
      else this.#onAnswer(id, text);
    } catch (failure) {
      this.#options.signal.fail(new Error(`${String(failure)}\n  in ${shorten(text)}`, { cause: failure }));
    }
    this.#options.signal.notify();
  }

  #onAnswer(id: string, text: string): void {
    const { method, params } = this.#requests.get(id) ?? {};
    const processId = method === 'process/start' ? String(params?.processId) : undefined;
    if (processId !== undefined) {
      this.#starting.delete(processId);
      const isEarly = this.#early.delete(processId);
      if (text.includes('"result":') && !isEarly) this.#newLog(processId);
    }
    this.#answers.set(id, [...(this.#answers.get(id) ?? []), { text, arrival: this.#arrivals++ }]);
  }

  #onNotification(text: string): void {
    const message = parseObject(text);
    if (!message) throw new Error('neither an answer nor a notification');
    if (JSON.stringify(message) !== text) throw new Error('not in compact form');
    const known = this.#options.shapes.get(shapeKey(message));
    const shape = JSON.stringify(shapeOf(message));
    if (known !== undefined && shape !== known) throw new Error(`built as ${shape} instead of ${known}`);
    const params = member(message, 'params');
    const processId = String(params.processId);
    const seq = Number(params.seq);
    this.#logFor(processId).add(seq, toEvent(String(message.method), params));
    this.#seqs.get(processId)?.push(seq);
  }

  #logFor(processId: string): EventLog {
    const log = this.#options.logs.get(processId);
    const isPast = !log || log.closedSeq !== undefined;
    if (isPast && this.#starting.has(processId) && !this.#early.has(processId)) {
      if (this.#options.strictOrder) throw new Error('a process event came before process/start was answered');
      this.#early.add(processId);
      return this.#newLog(processId);
    }
    if (!this.#seqs.has(processId)) this.#seqs.set(processId, []);
    return log ?? this.#newLog(processId);
  }

  #newLog(processId: string): EventLog {
    const log = new EventLog();
    this.#options.logs.set(processId, log);
    this.#seqs.set(processId, []);
    return log;
  }
}

/** Throws for a notification the core of the protocol does not have. */
export function toEvent(method: string, params: JsonObject): ProcessEvent {
  switch (method) {
    case 'process/output':
      return { type: 'output', stream: String(params.stream), bytes: decodeChunk(params) };
    case 'process/exited':
      return {
        type: 'exited',
        exitCode: Number(params.exitCode),
        sandboxDenied: params.sandboxDenied === true,
        signal: String(params.signal),
        reason: String(params.reason),
      };
    case 'process/closed':
      return { type: 'closed' };
    default:
      throw new Error(`unexpected notification ${method}`);
  }
}

/** Bytes as one character each: comparable, cheap, and plain text where they are ASCII. */
export function decodeChunk({ chunk }: JsonObject): string {
  const bytes = Buffer.from(String(chunk), 'base64');
  if (bytes.toString('base64') !== chunk) throw new Error('a chunk is not standard base64');
  return bytes.toString('latin1');
}

export function shorten(text: string): string {
  return text.length > 2000 ? `${text.slice(0, 1500)} … ${text.slice(-400)}` : text;
}
