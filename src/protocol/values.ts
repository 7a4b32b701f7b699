/**
 * The vocabulary of the contract: schemas of the values that travel (bytes, path URIs, integers) and the few ways in
 * which members are optional. Each schema describes the wire form as its input and gives what handlers want as its
 * output. What zod cannot express is kept beside the schema in `facts`; shape.ts reads both.
 */
import * as z from 'zod/mini';
import { decodeBase64 } from './base64.ts';
import { type PathUri, parsePathUri } from './path-uri.ts';

export type Facts = {
  /** On a value: what the reference says it expected, e.g. `u64`. */
  expected?: string;
  /** On a value: what the printed reference calls it, and what JSON Schema should add. */
  label?: string;
  json?: Record<string, unknown>;
  /** On a value: a map of strings. */
  textMap?: true;
  /** On an object or a tagged union: the reference's name for it. */
  name?: string;
  /** On a member: ours, not the reference's; it has no place in positional arrays. */
  extension?: true;
  /** On a member: a remark for the printed reference. */
  note?: string;
};
export const facts = z.registry<Facts>();
/** A guard before an object to that object. */
export const guarded = new WeakMap<z.core.$ZodType, z.core.$ZodType>();

/* ---- values ---- */

const isPlainObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value));

/** Base64 on the wire, bytes inside. */
export const bytes = z
  .pipe(
    z.string(),
    z.transform((text, context): Uint8Array => decodeOrReport(decodeBase64, text, context)),
  )
  .register(facts, { expected: 'a string', label: 'base64', json: { type: 'string', contentEncoding: 'base64' } });

/** A `file:` URI on the wire, canonical inside. */
export const pathUri = z
  .pipe(
    z.string(),
    z.transform((text, context): PathUri => decodeOrReport(parsePathUri, text, context)),
  )
  .register(facts, { expected: 'a string', label: 'file URI', json: { type: 'string', format: 'uri' } });

function decodeOrReport<T>(decode: (text: string) => T, text: string, context: z.core.ParsePayload): T {
  try {
    return decode(text);
  } catch (error) {
    context.issues.push({
      code: 'custom',
      input: text,
      message: error instanceof Error ? error.message : String(error),
    });
    return z.NEVER;
  }
}

/** Round integers beyond the safe ones arrive as numbers, all others as bigints. */
const isU64 = (value: unknown): value is number | bigint =>
  typeof value === 'number'
    ? Number.isInteger(value) && value >= 0 && value < 2 ** 64
    : typeof value === 'bigint' && value >= 0n && value < 2n ** 64n;
const clamp = (value: number | bigint): number =>
  value <= Number.MAX_SAFE_INTEGER ? Number(value) : Number.MAX_SAFE_INTEGER;

const INVALID_NUMBER = 'invalid number';
const U64_JSON = { type: 'integer', minimum: 0 };

/** Any unsigned 64-bit integer; inside, what a number cannot hold exactly is clamped. */
export const u64 = z
  .pipe(z.custom<number | bigint>(isU64, INVALID_NUMBER), z.transform(clamp))
  .register(facts, { expected: 'u64', label: 'u64', json: U64_JSON });

/** As u64, but zero is refused. */
export const nonZero = z
  .pipe(
    z.custom<number | bigint>((value) => isU64(value) && value !== 0 && value !== 0n, {
      error: ({ input }) => (isU64(input) ? 'invalid value: integer `0`, expected a nonzero usize' : INVALID_NUMBER),
    }),
    z.transform(clamp),
  )
  .register(facts, { expected: 'a nonzero usize', label: 'u64, not 0', json: { type: 'integer', minimum: 1 } });

const integer = (expected: string, minimum: number, maximum: number) =>
  z
    .custom<number>(
      (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum && value <= maximum,
      INVALID_NUMBER,
    )
    .register(facts, { expected, label: expected, json: { type: 'integer', minimum, maximum } });
export const u16 = integer('u16', 0, 65_535);
export const i32 = integer('i32', -(2 ** 31), 2 ** 31 - 1);
export const i64 = integer('i64', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

/** Names to strings, any names: zod's own record drops one called `__proto__`. */
export const texts = z
  .custom<Record<string, string>>(
    (value) => isPlainObject(value) && Object.values(value as object).every((text) => typeof text === 'string'),
  )
  .register(facts, { textMap: true, json: { type: 'object', additionalProperties: { type: 'string' } } });

/** The params of methods that take none. */
export const unit = z.null();
/** A result without members. */
export const empty = z.object({});

/* ---- members ---- */

/** May be absent or null. */
export const nullish = <T extends z.ZodMiniType>(schema: T) => z.optional(z.nullable(schema));

/** May be absent or null, and counts as null when a positional array ends before it. */
export const trailing = <T extends z.ZodMiniType>(schema: T) => z._default(z.nullable(schema), null);

/** A boolean that may be absent or null; both mean `otherwise`. */
export const flag = (otherwise: boolean) =>
  z.pipe(
    z._default(z.nullable(z.boolean()), otherwise),
    z.transform((value: boolean | null) => value ?? otherwise),
  );

/** A member that the reference does not have. */
export function extension<T extends z.ZodMiniType>(schema: T): z.ZodMiniOptional<T> {
  const member = z.optional(schema);
  facts.add(member, { extension: true });
  return member;
}

/** The same schema with a remark; a copy, because schemas are shared between members. */
export function note<T extends z.ZodMiniType>(text: string, schema: T): T {
  const copy = schema.clone();
  facts.add(copy, { ...facts.get(schema), note: text });
  return copy;
}

/* ---- objects ---- */

/** An object inside params or results, under the reference's name. */
export const struct = <const S extends z.core.$ZodLooseShape>(name: string, shape: S) =>
  z.object(shape).register(facts, { name });

/** An object in which every member may be absent, so that its members alone would let any object through. */
export function looseStruct<const S extends z.core.$ZodLooseShape>(name: string, shape: S) {
  const object = struct(name, shape);
  const guard = z.custom<z.input<typeof object>>(isPlainObject);
  guarded.set(guard, object);
  return z.pipe(guard, object);
}
