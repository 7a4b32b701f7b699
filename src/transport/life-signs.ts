/**
 * Tells a dead peer from a slow one, from what the socket shows at each keep-alive ping. Pure: it is given numbers and
 * keeps no clock.
 */
import { MAX_SILENT_PINGS } from '../limits.ts';

/**
 * Slower than this a reader of one huge answer may be taken for dead. What it has not read yet sits partly in kernel
 * buffers, where nobody sees it move, and its pongs wait behind it: so unread bytes buy time at this rate.
 */
const SLOWEST_PEER_BYTES_PER_SECOND = 64 * 1024;

export type SocketLook = {
  /** Bytes received so far, of any kind. */
  receivedBytes: number;
  /** Bytes the kernel has taken from us so far. */
  handedOverBytes: number;
  /** Bytes the kernel has not taken yet. */
  backlogBytes: number;
  /** Bytes of messages that no pong has confirmed. */
  unreadBytes: number;
  /** Reading was stopped by us, so that no answer can be seen. */
  paused: boolean;
};

export class LifeSigns {
  readonly #unreadBytesPerPing: number;
  #last: SocketLook | undefined;
  #silentPings = 0;

  constructor(pingIntervalMs: number) {
    this.#unreadBytesPerPing = (SLOWEST_PEER_BYTES_PER_SECOND * pingIntervalMs) / 1000;
  }

  /** Call just before each ping; false when the pings before it saw no life for too long. */
  isAlive(look: SocketLook): boolean {
    const last = this.#last;
    this.#last = look;
    if (last === undefined || look.paused || last.paused || hasMoved(last, look)) {
      this.#silentPings = 0;
      return true;
    }
    this.#silentPings += 1;
    return this.#silentPings < MAX_SILENT_PINGS + Math.floor(look.unreadBytes / this.#unreadBytesPerPing);
  }
}

/**
 * Progress outwards counts only while there was a backlog: the kernel takes the first bytes for a dead peer as well,
 * our own pings for instance, but a full buffer empties only when the peer acknowledges.
 */
function hasMoved(last: SocketLook, look: SocketLook): boolean {
  if (look.receivedBytes !== last.receivedBytes) return true;
  return last.backlogBytes > 0 && look.handedOverBytes > last.handedOverBytes;
}
