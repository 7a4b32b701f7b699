/** JSON values in the words of the reference's decoding errors. */
import { RawNumber } from '../wire/json-reader.ts';

export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'sequence' | 'map';

export function jsonType(value: unknown): JsonType {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number' || typeof value === 'bigint' || value instanceof RawNumber) return 'number';
  if (Array.isArray(value)) return 'sequence';
  return typeof value === 'object' && value !== null ? 'map' : 'null';
}

/** What was found instead of what was expected. */
export function describeValue(value: unknown): string {
  if (typeof value === 'boolean') return `boolean \`${value}\``;
  if (typeof value === 'string') return `string ${quote(value)}`;
  return jsonType(value);
}

const MAX_QUOTED_CHARS = 1_024;

/** An error need not send a whole file back to the one who sent it. */
export const shorten = (text: string): string =>
  text.length > MAX_QUOTED_CHARS ? `${text.slice(0, MAX_QUOTED_CHARS)}…` : text;

/** In double quotes, with the escapes of the reference's language where they differ from JSON's. */
function quote(text: string): string {
  return JSON.stringify(shorten(text)).replace(/\\(?:u([0-9a-f]{4})|.)/g, (spelling, hex?: string) => {
    const code = hex ?? { '\\b': '8', '\\f': 'c' }[spelling];
    return code === undefined ? spelling : `\\u{${Number.parseInt(code, 16).toString(16)}}`;
  });
}
