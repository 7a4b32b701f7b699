/**
 * Stands in for the model: a Responses API endpoint on loopback whose answers the test gives one by one. `ask` makes
 * the model call tools and resolves with what the client told it in return, so a test reads as a conversation. It
 * judges nothing.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { EventLog } from './event-log.ts';
import { close, listen } from './loopback.ts';

const bodyShape = z.object({ input: z.array(z.looseObject({ type: z.optional(z.string()) })) });
const toolOutputShape = z.object({
  type: z.literal('function_call_output'),
  call_id: z.string(),
  output: z.union([z.string(), z.array(z.object({ text: z.string() }))]),
});

export type ToolCall = { type: 'function_call'; call_id: string; name: string; arguments: string };
type Message = { type: 'message'; role: 'assistant'; id: string; content: { type: 'output_text'; text: string }[] };
type Request = { number: number; toolOutputs: Map<string, string>; response: ServerResponse };

let calls = 0;
function toolCall(name: string, args: Record<string, unknown>): ToolCall {
  calls += 1;
  return { type: 'function_call', call_id: `call-${calls}`, name, arguments: JSON.stringify(args) };
}

// The client stops waiting for a command after this long and says that it is still running. It takes it literally, so
// it must be longer than a healthy command takes and shorter than our own waits.
const PATIENCE = { yield_time_ms: 15_000 };

/** Runs a command and waits for its end. */
export const run = (cmd: string, options: { tty?: boolean; max_output_tokens?: number } = {}): ToolCall =>
  toolCall('exec_command', { cmd, ...PATIENCE, ...options });
/** Starts a command and comes back as soon as the client allows, with the command still running. */
export const start = (cmd: string, options: { tty?: boolean } = {}): ToolCall =>
  toolCall('exec_command', { cmd, yield_time_ms: 250, ...options });
/** Types into a command that is still running and waits for its end. */
export const type = (sessionId: number, chars: string): ToolCall =>
  toolCall('write_stdin', { session_id: sessionId, chars, ...PATIENCE });

/** The number by which the client lets the model name a command that is still running. */
export function sessionIdIn(told: string): number {
  const digits = /session ID (\d+)/.exec(told)?.[1];
  if (!digits) throw new Error(`no running session in: ${told}`);
  return Number(digits);
}

function readToolOutputs(body: string): Map<string, string> {
  const { input } = bodyShape.parse(JSON.parse(body));
  const outputs = input.filter((item) => item.type === 'function_call_output').map((i) => toolOutputShape.parse(i));
  return new Map(
    outputs.map(({ call_id, output }) => [
      call_id,
      typeof output === 'string' ? output : output.map((part) => part.text).join(''),
    ]),
  );
}

export class Model {
  readonly #requests = new EventLog<Request>();
  // Answers every failure itself, so nobody has to wait for it.
  readonly #listener: Server = createServer((request, response) => void this.#receive(request, response));
  #answered = 0;
  #port = 0;

  static async open(): Promise<Model> {
    const model = new Model();
    model.#port = await listen(model.#listener);
    return model;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  /** Calls tools, all in one response, without waiting for what comes of it. */
  async call(...items: ToolCall[]): Promise<void> {
    await this.#answer(items);
  }

  /** What the client told the model about these calls, once it comes back with the next request. */
  async told(...items: ToolCall[]): Promise<string[]> {
    const { toolOutputs } = await this.#nextRequest();
    return items.map(({ call_id }) => {
      const output = toolOutputs.get(call_id);
      if (output === undefined) throw new Error(`the client came back without a result of ${call_id}`);
      return output;
    });
  }

  /** Calls one tool and waits for what the client tells about it. */
  async ask(item: ToolCall): Promise<string> {
    await this.call(item);
    const [output = ''] = await this.told(item);
    return output;
  }

  /** Ends the turn. */
  async finish(): Promise<void> {
    await this.#answer([
      { type: 'message', role: 'assistant', id: 'message-1', content: [{ type: 'output_text', text: 'Done.' }] },
    ]);
  }

  /** Everything the client told, for a person looking at a failure. */
  summary(): string {
    return [...(this.#requests.entries.at(-1)?.toolOutputs ?? [])].map((entry) => entry.join(': ')).join('\n');
  }

  async #nextRequest(): Promise<Request> {
    const wanted = this.#answered + 1;
    return await this.#requests.first(`request ${wanted} to the model`, (request) =>
      request.number === wanted ? request : undefined,
    );
  }

  async #answer(items: (ToolCall | Message)[]): Promise<void> {
    const { response, number } = await this.#nextRequest();
    this.#answered = number;
    const id = `response-${number}`;
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const events = [
      { type: 'response.created', response: { id } },
      ...items.map((item) => ({ type: 'response.output_item.done', item })),
      { type: 'response.completed', response: { id, usage } },
    ];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await text(request);
      if (request.method === 'POST' && request.url === '/v1/responses') {
        const number = this.#requests.entries.length + 1;
        this.#requests.add({ number, toolOutputs: readToolOutputs(body), response });
      } else {
        response.writeHead(404).end();
      }
    } catch (failure) {
      response.writeHead(500).end(String(failure)); // The client prints it, and the test waits in vain and fails.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.closeAllConnections();
    await close(this.#listener);
  }
}
