/** What the seed tests share: the two kinds of client of the seeds, short calls, and looks at the operating system. */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { RpcError, type TestClient } from '../support/client.ts';

/** The seeds have a client in the server's own process and one behind a WebSocket; every process test runs for both. */
export const CLIENTS = [
  ['an in-process client', 'memory'],
  ['a remote client', 'websocket'],
] as const;

export type ReadResult = {
  chunks: { seq: number; stream: string; chunk: string }[];
  nextSeq: number;
  exited: boolean;
  exitCode: number | null;
  closed: boolean;
  firstSeq?: number;
  lostBytes?: number;
};

/** Code and text of the refusal; says so when there was none. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'not refused',
    (error: unknown) => (error instanceof RpcError ? `${error.code} ${error.message}` : String(error)),
  );
}

export function read(client: TestClient, processId: string, more: Record<string, unknown> = {}): Promise<ReadResult> {
  return client.request('process/read', { processId, ...more });
}

export function write(client: TestClient, processId: string, text: string): Promise<{ status: string }> {
  return client.request('process/write', { processId, chunk: toBase64(text), writeId: text });
}

export function terminate(client: TestClient, processId: string): Promise<{ running: boolean }> {
  return client.request('process/terminate', { processId });
}

/** The parameters of the seed's `exec_params`, in today's form: March had a plain path for `cwd`. */
export function execParams(processId: string): Record<string, unknown> {
  return {
    processId,
    argv: ['bash', '-lc', 'sleep 30'],
    cwd: pathToFileURL(process.cwd()).href,
    env: {},
    tty: false,
    arg0: null,
    sandbox: null,
  };
}

export const toBase64 = (text: string): string => Buffer.from(text).toString('base64');

export function textOf({ chunks }: Pick<ReadResult, 'chunks'>): string {
  return Buffer.concat(chunks.map(({ chunk }) => Buffer.from(chunk, 'base64'))).toString();
}

/** A zombie that waits for its parent is gone as far as anybody cares. */
export function isGone(pid: number): boolean {
  try {
    return / [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}
