/**
 * A client for measuring: it does as little as it can with each message, so that its own cost does not hide the
 * server's. One object is one connection and one session. Waiting is not bounded here: when a server falls silent it is
 * ended, and with the connection every call fails.
 */
import { once } from 'node:events';
import WebSocket from 'ws';
import { RunningProcess } from './running-process.mjs';
import { within } from './statistics.mjs';

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const CLOSE_MS = 50;

// The one message worth a shortcut: the size of its data is known from its length. Spelled otherwise, it is parsed.
const OUTPUT_HEAD =
  /^\{"method":"process\/output","params":\{"processId":"([\w-]+)","seq":(\d+),"stream":"\w+","chunk":"/;
const OUTPUT_HEAD_BYTES = 160;
const OUTPUT_TAIL_BYTES = '"}}'.length;
const PADDING = 0x3d;

let processes = 0;

export class Client {
  #socket;
  #calls = new Map();
  #processes = new Map();
  #nextId = 1;
  #closed = undefined;

  constructor(socket) {
    this.#socket = socket;
    socket.on('message', (bytes) => this.#take(bytes));
    socket.on('close', () => this.#fail(new Error('the connection was closed')));
    socket.on('error', () => {}); // `close` follows.
  }

  static async connect(url) {
    const socket = new WebSocket(url, {
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
      skipUTF8Validation: true,
    });
    await once(socket, 'open');
    const client = new Client(socket);
    await client.call('initialize', { clientName: 'bench' });
    socket.send('{"method":"initialized","params":{}}');
    return client;
  }

  call(method, params) {
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(this.#closed);
      this.#calls.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  /** The request that costs a server least. */
  noOp() {
    return this.call('environment/status', {});
  }

  /** Resolves when the start is answered. */
  async start(argv, { tty = false } = {}) {
    processes += 1;
    const started = new RunningProcess(`bench-${processes}`);
    this.#processes.set(started.id, started);
    await this.call('process/start', {
      processId: started.id,
      argv,
      cwd: 'file:///',
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', TERM: 'xterm' },
      tty,
      pipeStdin: false,
      arg0: null,
    });
    started.startedAt = performance.now();
    return started;
  }

  /** A whole process, from start to end; anything but success is an error. */
  async run(argv, options) {
    const running = await this.start(argv, options);
    await running.ended;
    this.#processes.delete(running.id);
    if (running.exitCode !== 0) throw new Error(`${argv[0]} ended with ${running.exitCode}`);
    return running;
  }

  /** Leaves everything the server sends in the socket from now on. */
  stopReading() {
    this.#socket.pause();
  }

  async close() {
    if (this.#closed) return;
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    // The reference answers no close frame; then the socket is simply cut.
    await within(CLOSE_MS, 'close', closed).catch(() => this.#socket.terminate());
  }

  #take(bytes) {
    const head = OUTPUT_HEAD.exec(bytes.toString('latin1', 0, OUTPUT_HEAD_BYTES));
    if (head) {
      const end = bytes.length - OUTPUT_TAIL_BYTES;
      const padding = bytes[end - 1] !== PADDING ? 0 : bytes[end - 2] !== PADDING ? 1 : 2;
      this.#processes.get(head[1])?.takeOutput(Number(head[2]), ((end - head[0].length) / 4) * 3 - padding);
      return;
    }
    const message = JSON.parse(bytes.toString());
    if (message.method) this.#takeNotification(message);
    else this.#takeAnswer(message);
  }

  #takeNotification({ method, params }) {
    const of = this.#processes.get(params?.processId);
    if (method === 'process/output') of?.takeOutput(params.seq, Buffer.byteLength(params.chunk, 'base64'));
    else if (method === 'process/exited') of?.takeExited(params);
    else if (method === 'process/closed') of?.takeClosed(params);
  }

  #takeAnswer({ id, error, result }) {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (error) call?.reject(new Error(`${error.message} (${error.code})`));
    else call?.resolve(result);
  }

  #fail(reason) {
    this.#closed = reason;
    for (const call of this.#calls.values()) call.reject(reason);
    for (const running of this.#processes.values()) running.fail(reason);
    this.#calls.clear();
    this.#processes.clear();
  }
}

/** Runs `work` with a client that is closed afterwards, whatever happens. */
export async function withClient(server, work) {
  const client = await Client.connect(server.url);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
