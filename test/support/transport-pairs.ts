/** Both ends of a connection over each transport, for tests that state the same behaviour of all of them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import {
  type Connection,
  dialWebSocket,
  memoryPair,
  openStdioConnection,
  openWebSocketListener,
} from '../../src/transport/index.ts';
import { deferred } from '../../src/util/deferred.ts';
import { Disposables } from '../../src/util/disposables.ts';

export type Pair = AsyncDisposable & { near: Connection; far: Connection };
export type TransportName = 'websocket' | 'stdio' | 'stdio in process' | 'memory';

export const TRANSPORTS: TransportName[] = ['websocket', 'stdio', 'stdio in process', 'memory'];

/** `near` is the client's end, `far` the server's. Disposing drops both. */
export async function openPair(name: TransportName): Promise<Pair> {
  const scope = new Disposables();
  const [near, far] = await OPENERS[name](scope);
  scope.defer(() => Promise.all([near.close('drop'), far.close('drop')]));
  return { near, far, [Symbol.asyncDispose]: () => scope[Symbol.asyncDispose]() };
}

const OPENERS: Record<TransportName, (scope: Disposables) => Promise<[Connection, Connection]>> = {
  memory: async () => memoryPair(),
  websocket: async (scope) => {
    const accepted = deferred<Connection>();
    const listener = scope.use(
      await openWebSocketListener({ host: '127.0.0.1', port: 0, onConnection: accepted.resolve }),
    );
    const near = await dialWebSocket(listener.url);
    return [near, await accepted.promise];
  },
  // Two real pipes with a program in the middle, so that buffers, ends and broken pipes are the system's own.
  stdio: async (scope) => {
    const [there, back] = [openPipe(scope), openPipe(scope)];
    return [
      openStdioConnection({ input: back.stdout, output: there.stdin }),
      openStdioConnection({ input: there.stdout, output: back.stdin }),
    ];
  },
  'stdio in process': async () => {
    const [there, back] = [new PassThrough(), new PassThrough()];
    return [openStdioConnection({ input: back, output: there }), openStdioConnection({ input: there, output: back })];
  },
};

function openPipe(scope: Disposables) {
  const cat = spawn('cat', { stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = once(cat, 'close');
  scope.defer(async () => {
    cat.kill('SIGKILL');
    await exited;
  });
  return cat;
}
