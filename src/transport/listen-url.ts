/** Reads the value of `--listen`: `stdio`, or a WebSocket address made of an IP and a port. Resolves no names. */
import { isIPv4, isIPv6, SocketAddress } from 'node:net';

export type ListenAddress = { type: 'stdio' } | { type: 'websocket'; host: string; port: number };

const SCHEME = 'ws://';

/** Throws with the text to show when the value is not one of the accepted forms. Port 0 asks for any free one. */
export function parseListenUrl(text: string): ListenAddress {
  if (text === 'stdio' || text === 'stdio://') return { type: 'stdio' };
  if (!text.startsWith(SCHEME)) {
    throw new Error(`unsupported --listen URL \`${text}\`; expected \`ws://IP:PORT\` or \`stdio\``);
  }
  const address = text.slice(SCHEME.length);
  const colon = address.lastIndexOf(':');
  const host = toHost(address.slice(0, Math.max(colon, 0)));
  const port = toPort(address.slice(colon + 1));
  if (host === undefined || port === undefined) {
    throw new Error(`invalid websocket --listen URL \`${text}\`; expected \`ws://IP:PORT\``);
  }
  return { type: 'websocket', host, port };
}

/** `IP:PORT` as it stands in URLs and texts; IPv6 needs brackets. */
export function formatAddress(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Whether only this machine can reach a listener on this IP address. */
export function isLoopback(host: string): boolean {
  const { address } = new SocketAddress({ address: host, family: isIPv6(host) ? 'ipv6' : 'ipv4' });
  return address === '::1' || /^(::ffff:)?127\./.test(address);
}

function toHost(text: string): string | undefined {
  if (isIPv4(text)) return text;
  const inner = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : '';
  // A zone (`%eth0`) names an interface, which is no part of an IP address.
  return isIPv6(inner) && !inner.includes('%') ? inner : undefined;
}

function toPort(text: string): number | undefined {
  const port = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  return port <= 65_535 ? port : undefined;
}
