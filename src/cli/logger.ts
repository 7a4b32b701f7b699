/**
 * Logs to stderr with pino, loaded only when the first line is written so that it costs nothing before listening. A
 * stderr that is gone or full silences the log; it never harms the server.
 */
import type { Log, LogFields } from '../server/index.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';
export type LogFormat = 'text' | 'json';

type Level = Exclude<LogLevel, 'silent'>;
type Write = (level: Level, message: string, fields: LogFields) => void;

export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent'];

export function openLog(level: LogLevel, format: LogFormat): Log {
  let write: Promise<Write> | undefined;
  const log =
    (lineLevel: Level) =>
    (message: string, fields: LogFields = {}): void => {
      if (LOG_LEVELS.indexOf(lineLevel) < LOG_LEVELS.indexOf(level)) return;
      write ??= openPino(level, format);
      // A log that cannot be opened has nowhere to say so.
      void write.then((line) => line(lineLevel, message, fields)).catch(() => {});
    };
  return { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
}

async function openPino(level: LogLevel, format: LogFormat): Promise<Write> {
  const { pino } = await import('pino');
  const destination = pino.destination({ dest: 2, sync: true });
  let isUsable = true;
  destination.on('error', () => {
    isUsable = false; // Gone or full: one try was enough.
  });
  const sink = {
    write(line: string): void {
      if (!isUsable) return;
      destination.write(format === 'text' ? toText(line) : line);
    },
  };
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const logger = pino(options, sink);
  return (lineLevel, message, fields) => logger[lineLevel](fields, message);
}

function toText(line: string): string {
  const { level, time, msg, ...fields }: Record<string, unknown> = JSON.parse(line);
  const details = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return `${time} ${String(level).toUpperCase().padEnd(5)} ${inOneLine(String(msg))}${details.join('')}\n`;
}

/** A client chooses some of the words; it must not be able to write lines of its own. */
function inOneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not reach the terminal.
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) =>
    JSON.stringify(character).slice(1, -1),
  );
}
