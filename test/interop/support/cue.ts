/**
 * A line to the commands a test has started, beside the protocol under test: a command calls in over loopback TCP,
 * says where it has got to and waits for its cue. The line stays open as long as any process of that command lives, so
 * its end is the proof that all of them are gone. The commands are bash, which can open such a line by itself.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { EventLog, within } from './event-log.ts';
import { close, listen } from './loopback.ts';

type Said = { performer: Performer; word: string };

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** One command that has called in. */
export class Performer {
  readonly #socket: Socket;
  readonly #said: EventLog<Said>;
  readonly #gone: Promise<void>;

  constructor(socket: Socket, said: EventLog<Said>) {
    this.#socket = socket;
    this.#said = said;
    this.#gone = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => {}); // A killed command may reset the line: that, too, is its end.
    createInterface({ input: socket }).on('line', (word) => said.add({ performer: this, word }));
  }

  /** Waits until the command has said this. */
  async said(wanted: string): Promise<void> {
    await this.#said.first(`the command to say ${wanted}`, ({ performer, word }) =>
      performer === this && word === wanted ? word : undefined,
    );
  }

  /** Lets the command go on from its present or next `wait_for_cue`. */
  go(): void {
    this.#socket.write('go\n');
  }

  /** Waits until every process of the command has ended. */
  async gone(): Promise<void> {
    await within('the command and all its children to be gone', this.#gone);
  }
}

export class Cue {
  readonly #said = new EventLog<Said>();
  readonly #sockets = new Set<Socket>();
  readonly #listener: Server = createServer((socket) => {
    this.#sockets.add(socket);
    new Performer(socket, this.#said);
  });
  #port = 0;

  static async open(): Promise<Cue> {
    const cue = new Cue();
    cue.#port = await listen(cue.#listener);
    return cue;
  }

  /** A shell command that runs the script with `say WORD` and `wait_for_cue` at hand; it first says its own name. */
  script(name: string, script: string): string {
    const head = `exec 3<>/dev/tcp/127.0.0.1/${this.#port}; say() { echo "$1" >&3; }; wait_for_cue() { read -r -u 3 _; }`;
    return `exec bash -c ${quote(`${head}; say ${name}; ${script}`)}`;
  }

  /** Waits for the command of that name to call in. */
  async performer(name: string): Promise<Performer> {
    return await this.#said.first(`command ${name} to call in`, ({ performer, word }) =>
      word === name ? performer : undefined,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await close(this.#listener);
  }
}
