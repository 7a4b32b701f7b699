/**
 * Received messages on their way to the consumer: decodes each, keeps their order, and asks the transport to stop
 * reading while the consumer is behind. It cannot lose a message: what arrives while reading is stopping is kept too.
 */
import { MAX_QUEUED_INCOMING, MAX_QUEUED_INCOMING_BYTES } from '../limits.ts';
import { AsyncQueue } from '../util/async-queue.ts';
import { decode } from '../wire/decode.ts';
import type { Message } from '../wire/message.ts';

export interface InboxOptions {
  /** Put before the detail of a malformed message. */
  malformedPrefix: string;
  /** The consumer is too far behind: stop reading. */
  pause(): void;
  /** It has caught up by half: read on. */
  resume(): void;
  /** One message was handed to the consumer. */
  onTaken?(): void;
}

export class Inbox {
  readonly #options: InboxOptions;
  readonly #queue: AsyncQueue<Message>;
  /** Wire size of each queued message, oldest first. */
  readonly #sizes: number[] = [];
  #queuedBytes = 0;
  #paused: boolean = false;
  #ended: boolean = false;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#queue = new AsyncQueue(() => this.#taken());
  }

  get messages(): AsyncIterable<Message> {
    return this.#queue;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** One encoded message without terminator. */
  accept(encoded: string | Uint8Array): void {
    if (this.#ended) return;
    const message = decode(encoded);
    if (message.type === 'request') message.size = encoded.length;
    this.#sizes.push(encoded.length);
    this.#queuedBytes += encoded.length;
    this.#queue.push(
      message.type === 'malformed'
        ? { type: 'malformed', detail: this.#options.malformedPrefix + message.detail }
        : message,
    );
    if (this.#paused) return;
    if (this.#queue.size < MAX_QUEUED_INCOMING && this.#queuedBytes < MAX_QUEUED_INCOMING_BYTES) return;
    this.#paused = true;
    this.#options.pause();
  }

  /** Nothing more is accepted; what is queued is still delivered. */
  end(): void {
    this.#ended = true;
    this.#queue.end();
  }

  #taken(): void {
    this.#queuedBytes -= this.#sizes.shift() ?? 0;
    this.#options.onTaken?.();
    if (!this.#paused) return;
    if (this.#queue.size > MAX_QUEUED_INCOMING / 2 || this.#queuedBytes > MAX_QUEUED_INCOMING_BYTES / 2) return;
    this.#paused = false;
    this.#options.resume();
  }
}
