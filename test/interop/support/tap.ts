/**
 * Stands between the client and a WebSocket server, on the level of TCP: passes bytes on as they are, records the
 * messages in them, and can withhold, reset and refuse connections. It never speaks the protocol itself.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { EventLog } from './event-log.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { close, listen } from './loopback.ts';
import { Recording } from './recording.ts';

type Pair = { client: Socket; server: Socket; isHeld: boolean };

export class Tap {
  readonly recording = new Recording();
  /** One entry for each connection the client tried to make. */
  readonly attempts = new EventLog<'accepted' | 'refused'>();
  readonly #target: URL;
  readonly #listener: Server;
  readonly #pairs = new Set<Pair>();
  readonly #unreadable: unknown[] = [];
  #manner: 'accepting' | 'refusing' = 'accepting';
  #connections = 0;
  #port = 0;

  private constructor(target: URL) {
    this.#target = target;
    this.#listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#greet(client));
  }

  static async open(target: string): Promise<Tap> {
    const tap = new Tap(new URL(target));
    tap.#port = await listen(tap.#listener);
    return tap;
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#port}`;
  }

  /** From now on what the server sends over the present connections is recorded but does not arrive. */
  hold(): void {
    for (const pair of this.#pairs) pair.isHeld = true;
  }

  /** Resets the present connections on both sides; no close frame is seen by either. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  }

  /** From now on new connections are reset at once. */
  refuse(): void {
    this.#manner = 'refusing';
  }

  /** From now on new connections are taken again. */
  accept(): void {
    this.#manner = 'accepting';
  }

  #greet(client: Socket): void {
    const isWelcome = this.#manner === 'accepting';
    this.attempts.add(isWelcome ? 'accepted' : 'refused');
    if (!isWelcome) {
      client.on('error', () => {}); // It is being reset; there is nothing to learn from it.
      client.resetAndDestroy();
      return;
    }
    const server = connect({
      host: this.#target.hostname,
      port: Number(this.#target.port),
      allowHalfOpen: true,
      noDelay: true,
    });
    const pair: Pair = { client, server, isHeld: false };
    this.#connections += 1;
    this.#pairs.add(pair);
    void this.#join(pair, this.#connections); // Ends with the sockets, which close() destroys; never rejects.
  }

  async #join(pair: Pair, connection: number): Promise<void> {
    const { client, server } = pair;
    const fromClient = this.#reader(connection, 'client', () => true);
    const fromServer = this.#reader(connection, 'server', () => !pair.isHeld);
    // A broken side takes the other with it, as a broken network would, and the recording shows what was lost.
    await Promise.allSettled([pipeline(client, fromClient, server), pipeline(server, fromServer, client)]);
    this.#pairs.delete(pair);
  }

  #reader(connection: number, from: 'client' | 'server', mayPass: () => boolean) {
    const decoder = new FrameDecoder();
    const read = (chunk: Buffer): void => {
      try {
        for (const text of decoder.push(chunk)) this.recording.add(connection, from, text);
      } catch (failure) {
        this.#unreadable.push(failure);
      }
    };
    return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        read(chunk);
        if (mayPass()) yield chunk;
      }
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await close(this.#listener);
    if (this.#unreadable.length > 0) throw new AggregateError(this.#unreadable, 'the tap could not read everything');
  }
}
