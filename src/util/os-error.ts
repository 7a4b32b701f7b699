/**
 * The text of an operating system error as the protocol words it: `<text> (os error <n>)`. The wording is the spec's
 * table and not this machine's libc, so that a peer sees the same sentence wherever the server runs. Knows texts and
 * numbers only; deciding what an error means is its caller's work.
 */
import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';

const TEXTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    E2BIG: 'Argument list too long',
    EACCES: 'Permission denied',
    EADDRINUSE: 'Address in use',
    EADDRNOTAVAIL: 'Address not available',
    EAFNOSUPPORT: 'Address family not supported by protocol',
    EAGAIN: 'Resource temporarily unavailable',
    EBADF: 'Bad file descriptor',
    EBUSY: 'Resource busy',
    ECHILD: 'No child process',
    ECONNREFUSED: 'Connection refused',
    ECONNRESET: 'Connection reset by peer',
    EDQUOT: 'Quota exceeded',
    EEXIST: 'File exists',
    EFAULT: 'Bad address',
    EFBIG: 'File too large',
    EHOSTUNREACH: 'Host is unreachable',
    EINTR: 'Interrupted system call',
    EINVAL: 'Invalid argument',
    EIO: 'I/O error',
    EISDIR: 'Is a directory',
    ELOOP: 'Symbolic link loop',
    EMFILE: 'No file descriptors available',
    EMLINK: 'Too many links',
    ENAMETOOLONG: 'Filename too long',
    ENETUNREACH: 'Network unreachable',
    ENFILE: 'Too many open files in system',
    ENODEV: 'No such device',
    ENOENT: 'No such file or directory',
    ENOEXEC: 'Exec format error',
    ENOLCK: 'No locks available',
    ENOMEM: 'Out of memory',
    ENOSPC: 'No space left on device',
    ENOSYS: 'Function not implemented',
    ENOTDIR: 'Not a directory',
    ENOTEMPTY: 'Directory not empty',
    ENOTSUP: 'Not supported',
    ENOTTY: 'Not a tty',
    ENXIO: 'No such device or address',
    EOPNOTSUPP: 'Not supported',
    EOVERFLOW: 'Value too large for data type',
    EPERM: 'Operation not permitted',
    EPIPE: 'Broken pipe',
    EROFS: 'Read-only file system',
    ESPIPE: 'Invalid seek',
    ESRCH: 'No such process',
    ESTALE: 'Stale file handle',
    ETIMEDOUT: 'Operation timed out',
    ETXTBSY: 'Text file busy',
    EXDEV: 'Cross-device link',
  }),
);

const NUMBERS: ReadonlyMap<string, number> = new Map(Object.entries(constants.errno));

/** The libuv numbers that stand for no error of the operating system (`EOF`, `UNKNOWN`) lie beyond this. */
const LAST_SYSTEM_NUMBER = 4_000;

/** The symbolic name (`ENOENT`) of a Node system error, if it is one. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  if ('errno' in error && typeof error.errno === 'number') return getSystemErrorMap().get(error.errno)?.[0];
  return undefined;
}

/** `No such file or directory (os error 2)` for a Node system error; the plain message for anything else. */
export function osErrorText(error: unknown): string {
  const code = errorCode(error);
  const number = code === undefined ? undefined : (NUMBERS.get(code) ?? ownNumber(error));
  if (code !== undefined && number !== undefined && number < LAST_SYSTEM_NUMBER) {
    const text = TEXTS.get(code) ?? getSystemErrorMap().get(-number)?.[1];
    if (text !== undefined) return `${text} (os error ${number})`;
  }
  return error instanceof Error ? error.message || error.name : String(error);
}

function ownNumber(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('errno' in error)) return undefined;
  return typeof error.errno === 'number' ? Math.abs(error.errno) : undefined;
}
