/**
 * Paths as they travel: `file:` URIs in canonical text. Parsing is the URL standard's plus the protocol's own rules; a
 * URI may name a path of another system, so whether it fits a host is asked only when it is turned into a native path
 * (native-path.ts). Nothing here looks at a file system.
 */
export type HostOs = 'linux' | 'macos' | 'windows';

const HOSTS: Partial<Record<NodeJS.Platform, HostOs>> = { win32: 'windows', darwin: 'macos' };
export const HOST_OS: HostOs = HOSTS[process.platform] ?? 'linux';

declare const canonical: unique symbol;
/** A `file:` URI that was parsed or built here: it is its own wire form, and equal paths are equal texts. */
export type PathUri = string & { readonly [canonical]: true };

/** Parses and canonicalises, or throws an Error with the reference's text. `os` only appears in texts. */
export function parsePathUri(text: string, os: HostOs = HOST_OS): PathUri {
  const url = parseUrl(text);
  if (url.protocol !== 'file:') throw new Error(`unsupported path URI scheme \`${url.protocol.slice(0, -1)}\``);
  // The URL standard refuses user names and ports in file URLs, so there is nothing more to check before the path. An
  // empty query or fragment is one too, and only the text shows it.
  const [beforeFragment = '', ...fragment] = url.href.split('#');
  if (beforeFragment.includes('?')) throw new Error('query parameters are not allowed in path URIs');
  if (fragment.length > 0) throw new Error('fragments are not allowed in path URIs');
  const uri = asPathUri(url.href);
  if (uri.includes('%00') && opaquePayload(uri) === undefined) throw new Error(invalidOn(uri, os));
  return uri;
}

/** Only for texts that are canonical by construction, but for the case of a drive letter. */
export function asPathUri(text: string): PathUri {
  return text.replace(DRIVE, (_, start: string, letter: string) => start + letter.toUpperCase()) as PathUri;
}

/** Host, slashes, then a drive letter that fills the first segment with text in it. */
const DRIVE = /^(file:\/\/[^/]*\/+)([A-Za-z])(?=:(?:\/|$))/;
const HOSTLESS = 'file:///';
const OPAQUE_PREFIX = 'file:///%00/bad/path/';

/** A host or a drive letter makes a Windows path, everything else is POSIX. */
export const isWindowsUri = (uri: PathUri): boolean => !uri.startsWith(HOSTLESS) || DRIVE.test(uri);

/** The spelling of a native path that no ordinary URI can express. */
export const opaqueUri = (native: Buffer): PathUri => asPathUri(OPAQUE_PREFIX + native.toString('base64url'));

/** The native bytes inside an opaque URI; undefined for any other URI and for an undecodable one. */
export function opaquePayload(uri: PathUri): Buffer | undefined {
  if (!uri.startsWith(OPAQUE_PREFIX)) return undefined;
  const payload = uri.slice(OPAQUE_PREFIX.length);
  const bytes = Buffer.from(payload, 'base64url');
  return bytes.toString('base64url') === payload ? bytes : undefined;
}

/** The host, possibly empty, and the segments that carry text, still percent-encoded. */
export function splitUri(uri: PathUri): { host: string; segments: string[] } {
  const [host = '', ...segments] = uri.slice('file://'.length).split('/');
  return { host, segments: segments.filter((segment) => segment !== '') };
}

export const invalidOn = (uri: string, os: HostOs): string => `'${uri}' is invalid on '${os}'`;

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch (cause) {
    throw new Error(`invalid URI: ${describeFailure(text)}`, { cause });
  }
}

/** Node does not say why a URL failed to parse; the host is nearly always the reason once there is a scheme. */
function describeFailure(text: string): string {
  const [, scheme, authority = ''] = /^([a-z][a-z0-9+.-]*):[/\\]*([^/\\?#]*)/i.exec(text.trim()) ?? [];
  if (scheme === undefined) return 'relative URL without a base';
  if (authority === '') return 'empty host';
  if (authority.startsWith('[')) return 'invalid IPv6 address';
  if (scheme.toLowerCase() !== 'file' && /:[^\]]*$/.test(authority)) return 'invalid port number';
  if (/(?:^|\.)(?:\d+|0x[\da-f]*)\.?$/i.test(authority)) return 'invalid IPv4 address';
  return 'invalid international domain name';
}
