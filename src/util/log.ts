/** Where a component says what happened. The CLI backs it with pino; tests collect it; the default is silence. */
export type LogFields = Record<string, string | number | boolean | undefined>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const silent = (): void => {};

export const SILENT_LOG: Log = { debug: silent, info: silent, warn: silent, error: silent };
