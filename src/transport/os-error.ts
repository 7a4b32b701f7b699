/**
 * The words for operating system errors that can reach a person through a transport. The table, not this machine's libc,
 * decides them, so they read the same everywhere. Knows nothing about what failed.
 */
const TEXTS: Record<string, string> = {
  ENOENT: 'No such file or directory (os error 2)',
  EACCES: 'Permission denied (os error 13)',
  ENOTDIR: 'Not a directory (os error 20)',
  EISDIR: 'Is a directory (os error 21)',
  EMFILE: 'No file descriptors available (os error 24)',
  EPIPE: 'Broken pipe (os error 32)',
  EAFNOSUPPORT: 'Address family not supported by protocol (os error 97)',
  EADDRINUSE: 'Address in use (os error 98)',
  EADDRNOTAVAIL: 'Address not available (os error 99)',
  ENETUNREACH: 'Network unreachable (os error 101)',
  ECONNRESET: 'Connection reset by peer (os error 104)',
  ETIMEDOUT: 'Operation timed out (os error 110)',
  ECONNREFUSED: 'Connection refused (os error 111)',
  EHOSTUNREACH: 'Host is unreachable (os error 113)',
};

/** The fixed text of a known operating system error, else the error's own message. */
export function osErrorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const known = 'code' in error && typeof error.code === 'string' ? TEXTS[error.code] : undefined;
  return known ?? (error.message || error.name);
}
