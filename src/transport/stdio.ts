/**
 * A connection over two byte streams, one message a line. It ends both streams with itself, writes nothing to them but
 * messages, and does not know whether they are this process's own or a child's.
 */
import { isUtf8 } from 'node:buffer';
import type { Readable, Writable } from 'node:stream';
import { CLOSE_HANDSHAKE_TIMEOUT_MS, MAX_MESSAGE_BYTES } from '../limits.ts';
import { deferred } from '../util/deferred.ts';
import { osErrorText } from '../util/os-error.ts';
import { LineSplitter } from '../wire/line-splitter.ts';
import type { Frame, Message } from '../wire/message.ts';
import type { CloseReason, Connection } from './connection.ts';
import { DeliveryCount } from './delivery-count.ts';
import { Inbox } from './inbox.ts';
import { SendGate } from './send-gate.ts';
import { TurnCork } from './turn-cork.ts';

const OPENING_BRACE = 0x7b;
const OUTPUT_GONE = 'the stream was closed';

export interface StdioOptions {
  input: Readable;
  /** A blocking stream here, such as a process's own stdout on a pipe, blocks the process while its reader is slow. */
  output: Writable;
  label?: string | undefined;
}

export function openStdioConnection({ input, output, label = 'exec-server stdio' }: StdioOptions): Connection {
  return new StdioConnection(input, output, label);
}

class StdioConnection implements Connection {
  readonly label: string;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #lines = new LineSplitter();
  readonly #inbox: Inbox;
  readonly #gate = new SendGate();
  readonly #deliveries = new DeliveryCount();
  readonly #cork: TurnCork;
  readonly #closed = deferred<CloseReason>();
  readonly #onWritten = (error?: Error | null): void => this.#noteWritten(error);
  #isClosed: boolean = false;

  constructor(input: Readable, output: Writable, label: string) {
    this.label = label;
    this.#input = input;
    this.#output = output;
    this.#cork = new TurnCork(output);
    this.#inbox = new Inbox({
      malformedPrefix: `failed to parse JSON-RPC message from ${label}: `,
      pause: () => input.pause(),
      resume: () => input.resume(),
    });
    // The error listeners stay for good: a stream that fails once more after the end must not end the process.
    input.on('error', (error) => this.#failReading(osErrorText(error)));
    output.on('error', (error) => this.#failWriting(osErrorText(error)));
    output.on('close', () => {
      if (this.#deliveries.pending) this.#failWriting(OUTPUT_GONE);
    });
    input.on('data', (chunk: Buffer) => this.#read(chunk));
    input.on('end', () => this.#readEnd());
    input.on('close', () => this.#failReading('the stream was closed before its end'));
  }

  get incoming(): AsyncIterable<Message> {
    return this.#inbox.messages;
  }

  get closed(): Promise<CloseReason> {
    return this.#closed.promise;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get congested(): boolean {
    return this.#gate.congested;
  }

  drained(): Promise<void> {
    return this.#gate.drained();
  }

  send(frame: Frame): void {
    if (this.#isClosed) return;
    // As on any pipe, that nobody reads any more is no news until there is something to write.
    if (!this.#output.writable) {
      this.#failWriting(OUTPUT_GONE);
      return;
    }
    this.#deliveries.sent();
    this.#cork.hold();
    if (typeof frame === 'string') this.#output.write(`${frame}\n`, this.#onWritten);
    else {
      this.#output.write(frame);
      this.#output.write('\n', this.#onWritten);
    }
    this.#cork.added(frame.length + 1);
    this.#gate.update(this.#output.writableLength);
  }

  confirm(): Promise<boolean> {
    return this.#deliveries.confirm();
  }

  async close(how: 'end' | 'drop'): Promise<void> {
    this.#end(how, { type: 'clean' });
    if (how === 'drop') this.#output.destroy();
    await this.#closed.promise;
  }

  #read(chunk: Buffer): void {
    if (this.#isClosed) return;
    for (const line of this.#lines.push(chunk)) this.#acceptLine(line);
    if (!this.#lines.overflowed) return;
    const text = `JSON-RPC message from ${this.label} exceeds maximum length of ${MAX_MESSAGE_BYTES} bytes`;
    this.#end('drop', { type: 'lost', text });
  }

  #readEnd(): void {
    const line = this.#lines.flush();
    if (line !== undefined) this.#acceptLine(line);
    this.#end('end', { type: 'clean' });
  }

  #acceptLine(line: Uint8Array): void {
    if (this.#isClosed) return;
    if (!isUtf8(line)) this.#failReading('stream did not contain valid UTF-8');
    else if (line[0] === OPENING_BRACE || Buffer.from(line).toString().trim() !== '') this.#inbox.accept(line);
  }

  #noteWritten(error: Error | null | undefined): void {
    if (error) return; // The stream's error event says it to everyone at once.
    this.#deliveries.arrived();
    this.#gate.update(this.#output.writableLength);
  }

  #failReading(detail: string): void {
    this.#end('drop', { type: 'lost', text: `failed to read JSON-RPC message from ${this.label}: ${detail}` });
  }

  #failWriting(detail: string): void {
    this.#end('drop', { type: 'lost', text: `failed to write JSON-RPC message to ${this.label}: ${detail}` });
  }

  /** Takes nothing more at once; `end` lets what was sent leave first, within a limit of time. */
  #end(how: 'end' | 'drop', reason: CloseReason): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#inbox.end();
    const settle = (): void => {
      clearTimeout(timer);
      this.#input.destroy();
      // A stream that has finished closes itself, once its reader has everything.
      if (!this.#output.writableFinished) this.#output.destroy();
      this.#gate.end();
      this.#deliveries.end();
      this.#closed.resolve(reason);
    };
    const timer = setTimeout(settle, CLOSE_HANDSHAKE_TIMEOUT_MS).unref();
    this.#output.once('close', settle);
    if (how === 'end') this.#output.end(settle);
    else settle();
  }
}
