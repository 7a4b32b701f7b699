/**
 * Path URIs to native paths and back, and lexical joining. Native POSIX paths are bytes: a path that is not UTF-8 is a
 * Buffer, any other a string. Purely lexical; symbolic links are never looked at.
 */
import { ExecError } from './errors.ts';
import {
  asPathUri,
  HOST_OS,
  type HostOs,
  invalidOn,
  isWindowsUri,
  opaquePayload,
  opaqueUri,
  type PathUri,
  splitUri,
} from './path-uri.ts';

/** The path on `os`; fails with `invalidRequest` when the URI belongs to another kind of system. */
export function toNativePath(uri: PathUri, os: HostOs = HOST_OS): string | Buffer {
  const native = os === 'windows' ? toWindowsPath(uri) : toPosixPath(uri);
  if (native === undefined) throw new ExecError('invalidRequest', invalidOn(uri, os));
  return native;
}

/** The URI of an absolute native path. Empty and `.` segments are dropped and `..` is resolved lexically. */
export function fromNativePath(path: string | Uint8Array, os: HostOs = HOST_OS): PathUri {
  const bytes = Buffer.from(path);
  const uri =
    os === 'windows' ? fromWindowsPath(typeof path === 'string' ? path : bytes.toString()) : fromPosixPath(bytes);
  if (uri === undefined)
    throw new ExecError('invalidRequest', `'${bytes.toString()}' is not an absolute path on '${os}'`);
  return uri;
}

/**
 * Native text relative to `base`, in the convention of `base`; absolute text replaces it. `..` stops at the root, the
 * drive or the share. Fails with `invalidRequest` for NUL and on opaque URIs.
 */
export function joinPathUri(base: PathUri, text: string, os: HostOs = HOST_OS): PathUri {
  if (text.includes('\0') || opaquePayload(base) !== undefined)
    throw new ExecError('invalidRequest', invalidOn(base, os));
  const windows = isWindowsUri(base);
  const absolute = windows
    ? fromWindowsPath(text)
    : text.startsWith('/')
      ? fromPosixPath(Buffer.from(text))
      : undefined;
  if (absolute !== undefined) return absolute;
  const { host, segments } = splitUri(base);
  walk(segments, text.split(windows ? /[\\/]/ : '/').map(encodeSegment), windows ? 1 : 0);
  const joined = asPathUri(`file://${host}/${segments.join('/')}`);
  return windows || !isAmbiguous(segments) ? joined : opaqueUri(percentDecode(`/${segments.join('/')}`));
}

/** Everything but these is percent-encoded; `/` and `\` always, since they would read as separators. */
const ENCODED = /[^A-Za-z0-9!$&'()*+,\-.:;=@[\]^_|~]/g;
/** One character is one byte in both functions, which is what latin1 means to Buffer. */
const encodeBytes = (latin1: string): string =>
  latin1.replace(ENCODED, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
const encodeSegment = (name: string): string => encodeBytes(Buffer.from(name).toString('latin1'));

/** Escapes that are none stay as they are. */
const percentDecode = (text: string): Buffer =>
  Buffer.from(
    text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );

/** Text when the bytes are UTF-8, else the bytes. */
function textOrBytes(bytes: Buffer): string | Buffer {
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? text : bytes;
}

/** Takes the steps of a relative path on `segments`, never below `floor`. */
function walk(segments: string[], steps: readonly string[], floor: number): void {
  for (const step of steps) {
    if (step === '..') segments.splice(Math.max(segments.length - 1, floor));
    else if (step !== '' && step !== '.') segments.push(step);
  }
}

/** A first segment that a URL parser takes for a drive letter. */
const isAmbiguous = ([first = '']: readonly string[]): boolean => /^[A-Za-z][:|]$/.test(first);

function toPosixPath(uri: PathUri): string | Buffer | undefined {
  const payload = opaquePayload(uri);
  if (payload !== undefined) return fromPosixPath(payload) === uri ? textOrBytes(payload) : undefined;
  if (isWindowsUri(uri)) return undefined;
  const path = `/${splitUri(uri).segments.join('/')}`;
  return path.includes('%') ? textOrBytes(percentDecode(path)) : path;
}

function fromPosixPath(path: Buffer): PathUri | undefined {
  const latin1 = path.toString('latin1');
  if (!latin1.startsWith('/') || latin1.includes('\0')) return undefined;
  const names: string[] = [];
  walk(names, latin1.split('/'), 0);
  if (isAmbiguous(names)) return opaqueUri(Buffer.from(`/${names.join('/')}`, 'latin1'));
  return asPathUri(`file:///${names.map(encodeBytes).join('/')}`);
}

function toWindowsPath(uri: PathUri): string | undefined {
  const payload = opaquePayload(uri);
  if (payload !== undefined) {
    const native = payload.toString('utf16le');
    return fromWindowsPath(native) === uri ? native : undefined;
  }
  if (!isWindowsUri(uri)) return undefined;
  const { host, segments } = splitUri(uri);
  const names = segments.map((segment) => textOrBytes(percentDecode(segment)));
  const [first, ...rest] = names;
  if (first === undefined || names.some((name) => typeof name !== 'string')) return undefined;
  if (host === '') return `${first}\\${rest.join('\\')}`;
  return `\\\\${[host, ...names].join('\\')}`;
}

function fromWindowsPath(path: string): PathUri | undefined {
  if (path.includes('\0')) return undefined;
  const [, server, drive, rest = ''] =
    /^(?:[\\/]{2}([A-Za-z0-9][A-Za-z0-9.-]*)|([A-Za-z]:))[\\/](.*)$/s.exec(path) ?? [];
  const names = drive === undefined ? [] : [drive.toUpperCase()];
  walk(names, rest.split(/[\\/]/), 1);
  const isFaithful = Buffer.from(path).toString() === path;
  if (isFaithful && drive !== undefined) return asPathUri(`file:///${names.map(encodeSegment).join('/')}`);
  if (isFaithful && server !== undefined && names.length > 0) {
    return asPathUri(`file://${server.toLowerCase()}/${names.map(encodeSegment).join('/')}`);
  }
  // Device paths and lone surrogates have no faithful URI; relative ones have none at all.
  return /^(?:[\\/]{2}|[A-Za-z]:[\\/])/.test(path) ? opaqueUri(Buffer.from(path, 'utf16le')) : undefined;
}
