/**
 * Command-line options as data: one table gives the parsing, the errors (worded as the reference words them) and the
 * help text. It knows no command.
 */
export type OptionSpec = {
  /** Without the dashes. */
  name: string;
  /** What the value is called in help and errors; absent for a switch. */
  value?: string;
  choices?: readonly string[];
  /** Shown in help; the code that uses the option applies it. */
  fallback?: string;
  help: string;
};

/** Wrong use of the command line: printed as it is, exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export type ParsedOptions = {
  text(name: string): string | undefined;
  has(name: string): boolean;
};

export function parseOptions(specs: readonly OptionSpec[], args: readonly string[]): ParsedOptions {
  const values = new Map<string, string>();
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    if (!arg.startsWith('--') || arg === '--') throw new UsageError(`unexpected argument '${arg}' found`);
    const equals = arg.indexOf('=');
    const name = equals < 0 ? arg.slice(2) : arg.slice(2, equals);
    const spec = specs.find((candidate) => candidate.name === name);
    if (!spec) throw new UsageError(`unexpected argument '--${name}' found`);
    if (values.has(name)) throw new UsageError(`the argument '${usage(spec)}' cannot be used multiple times`);
    if (spec.value === undefined) {
      if (equals >= 0) throw new UsageError(`unexpected value '${arg.slice(equals + 1)}' for '--${name}' found`);
      values.set(name, 'true');
      continue;
    }
    const value = equals >= 0 ? arg.slice(equals + 1) : args[++index];
    if (value === undefined) throw new UsageError(`a value is required for '${usage(spec)}' but none was supplied`);
    if (spec.choices && !spec.choices.includes(value)) {
      throw new UsageError(
        `invalid value '${value}' for '${usage(spec)}'\n  [possible values: ${spec.choices.join(', ')}]`,
      );
    }
    values.set(name, value);
  }
  return { text: (name) => values.get(name), has: (name) => values.has(name) };
}

/** The options, aligned, one paragraph each. */
export function helpFor(specs: readonly OptionSpec[]): string {
  const width = Math.max(...specs.map((spec) => usage(spec).length));
  return specs
    .map((spec) => {
      const notes = [
        ...(spec.choices ? [`one of: ${spec.choices.join(', ')}`] : []),
        ...(spec.fallback === undefined ? [] : [`default: ${spec.fallback}`]),
      ];
      return `  ${usage(spec).padEnd(width)}  ${spec.help}${notes.length > 0 ? ` [${notes.join('; ')}]` : ''}`;
    })
    .join('\n');
}

/** A whole number from 0. */
export function parseWhole(spec: OptionSpec, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw invalidValue(spec, text, 'invalid digit found in string');
  if (!Number.isSafeInteger(Number(text))) throw invalidValue(spec, text, 'number too large to fit in target type');
  return Number(text);
}

/** A whole number from 1. */
export function parseCount(spec: OptionSpec, text: string | undefined): number | undefined {
  const count = parseWhole(spec, text);
  if (count === 0) throw invalidValue(spec, '0', 'number would be zero for non-zero type');
  return count;
}

const DURATION_UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZE_UNITS: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** `500ms`, `30s`, `10m`, `2h`, `1d` as milliseconds. */
export function parseDuration(spec: OptionSpec, text: string | undefined): number | undefined {
  return parseWithUnit(spec, text, DURATION_UNITS);
}

/** `4096`, `64KiB`, `1MiB`, `2GiB` as bytes. */
export function parseSize(spec: OptionSpec, text: string | undefined): number | undefined {
  return parseWithUnit(spec, text, SIZE_UNITS, 'B');
}

function parseWithUnit(
  spec: OptionSpec,
  text: string | undefined,
  units: Record<string, number>,
  defaultUnit?: string,
): number | undefined {
  if (text === undefined) return undefined;
  const [, digits, unit = defaultUnit] = /^(\d+)([A-Za-z]+)?$/.exec(text) ?? [];
  const factor = unit === undefined ? undefined : units[unit];
  if (digits === undefined || factor === undefined) {
    const example = Object.keys(units).map((name) => `10${name}`);
    throw invalidValue(spec, text, `expected a number with a unit (${example.join(', ')})`);
  }
  return Number(digits) * factor;
}

function invalidValue(spec: OptionSpec, text: string, why: string): UsageError {
  return new UsageError(`invalid value '${text}' for '${usage(spec)}': ${why}`);
}

function usage(spec: OptionSpec): string {
  return spec.value === undefined ? `--${spec.name}` : `--${spec.name} <${spec.value}>`;
}
