/** One program this suite started: what it printed, how it ended, and the way to be rid of it. */
import { spawn } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { EventLog, within } from './event-log.ts';

// A program that is asked to end gets this long before it is killed and the test fails.
const STOP_MS = 10_000;

export type Exit = { code: number | null; signal: NodeJS.Signals | null };
export type ChildOptions = { cwd: string; env: Record<string, string> };

export class Child {
  /** Every line on standard output. */
  readonly lines = new EventLog<string>();
  /** How it ended, after its output was read to the end. Rejects only if it could not be started. */
  readonly exit: Promise<Exit>;
  readonly #name: string;
  readonly #process;
  #stderr = '';
  #ended: Exit | undefined;

  constructor(name: string, command: readonly string[], { cwd, env }: ChildOptions) {
    this.#name = name;
    const [program = '', ...args] = command;
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = child;
    const decoder = new StringDecoder('utf8');
    let unfinished = '';
    child.stdout.on('data', (chunk: Buffer) => {
      const lines = (unfinished + decoder.write(chunk)).split('\n');
      unfinished = lines.pop() ?? '';
      for (const line of lines) this.lines.add(line);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    const killNow = (): void => void child.kill('SIGKILL'); // The runner itself is ending: there is no time to ask.
    process.once('exit', killNow);
    this.exit = new Promise<Exit>((resolve, reject) => {
      child.once('error', (failure) => {
        if (child.pid === undefined) process.removeListener('exit', killNow);
        reject(failure);
      });
      child.once('close', (code, signal) => {
        process.removeListener('exit', killNow);
        this.#ended = { code, signal };
        resolve(this.#ended);
      });
    });
    this.exit.catch(() => {}); // Whoever waits for it is told; nobody has to wait.
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get stderr(): string {
    return this.#stderr;
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended || this.pid === undefined) return;
    this.signal('SIGTERM');
    try {
      await within(`${this.#name} to end after SIGTERM`, this.exit, STOP_MS);
    } catch (failure) {
      this.signal('SIGKILL');
      await this.exit;
      throw failure;
    }
  }
}
