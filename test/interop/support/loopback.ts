/** Listening on a free loopback port, and stopping again. */
import { once } from 'node:events';
import type { Server } from 'node:net';

/** Starts to listen; resolves with the port. */
export async function listen(listener: Server): Promise<number> {
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** Stops listening; resolves when the last connection is gone, so end those first. */
export async function close(listener: Server): Promise<void> {
  const closed = once(listener, 'close');
  listener.close();
  await closed;
}
