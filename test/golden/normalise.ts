/** Output of programs without what differs from run to run: process ids, inode numbers, this machine's user. */
import { readdirSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';

/** Numbers by order of first appearance, so that equal ones stay equal: `7 9 7` and `31 40 31` are both `#1 #2 #1`. */
export function nameNumbers(text: string): string {
  const names = new Map<string, string>();
  return text.replace(/\d+/g, (number) => {
    const name = names.get(number) ?? `#${names.size + 1}`;
    names.set(number, name);
    return name;
  });
}

/** For lists whose order is the program's own affair, such as the environment printed by `env`. */
export function sortLines(text: string): string {
  return text.split('\n').sort().join('\n');
}

/** The table of `ps`, terminal and pipe numbers, and the count of queued signals in `/proc/PID/status`. */
export function forgetProcessNumbers(text: string): string {
  return text
    .replace(/ *PID[A-Z ]+\r?\n[ \d]+/g, (table) => nameNumbers(table.replace(/^ +/gm, '').replace(/ +/g, ' ')))
    .replace(/(pipe|socket):\[\d+\]/g, '$1:[N]')
    .replace(/\/proc\/\d+\//g, '/proc/N/')
    .replace(/\/dev\/pts\/\d+/g, '/dev/pts/N')
    .replace(/SigQ:\t\S+/, 'SigQ:\tN')
    .replace(/(Sig(?:Blk|Cgt):\t)([0-9a-f]{16})/g, (_, name: string, mask: string) => name + forgetShellSignals(mask));
}

// INT, TERM and CHLD: bash blocks and catches them for moments while it starts the very program that prints the masks.
const SHELL_SIGNALS = (1n << 1n) | (1n << 14n) | (1n << 16n);
const forgetShellSignals = (mask: string): string => (BigInt(`0x${mask}`) & ~SHELL_SIGNALS).toString(16);

/** The recorded program puts a folder of its package first in PATH. */
export function forgetPackagePath(text: string): string {
  return text.replace(/^PATH=[^:\n]*codex-path:/m, 'PATH=');
}

/** The recorded user's shell and home stand for those of whoever runs the tests. */
export function forgetUser(text: string): string {
  const { shell, homedir } = userInfo();
  return text
    .replace(/^SHELL=(.*?)(\r?)$/gm, (line, path: string, end: string) =>
      path === shell ? `SHELL=/bin/bash${end}` : line,
    )
    .replace(/^(.*?)(\r?)$/gm, (line, path: string, end: string) => (path === homedir ? `/home/example${end}` : line));
}

/** How often the flood wrote its line while somebody listened is chance; that it wrote nothing else is not. */
export function collapseFlood(text: string): string {
  return text.replace(/^(?:y\n)+$/, 'y\n');
}

// Open descriptors of this process that its children inherit because whoever started the tests left them open.
const INHERITED = process.platform === 'linux' ? readdirSync('/proc/self/fd').filter(isInherited) : [];

function isInherited(fd: string): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
    const closeOnExec = 0o2000000;
    return Number(fd) > 2 && (Number.parseInt(flags ?? '0', 8) & closeOnExec) === 0;
  } catch {
    return false; // The one that was open to read the list.
  }
}

/** A list of descriptors without those that `child_process` can neither close nor knows about. */
export function forgetInherited(text: string): string {
  return INHERITED.reduce((rest, fd) => rest.replace(new RegExp(`^${fd} .*\\n`, 'm'), ''), text);
}
