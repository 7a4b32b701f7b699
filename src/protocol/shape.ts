/**
 * A schema read as plain data: what stands where on the wire, without zod. The decoder's error texts and the printed
 * reference both need that view, and neither should know how zod stores a schema; this file is the only one that does.
 */
import * as z from 'zod/mini';
import { facts } from './values.ts';

export type Member = {
  name: string;
  shape: Shape;
  /** `defaulted` members have a value when absent, `optional` ones have none. */
  presence: 'required' | 'optional' | 'defaulted';
  /** What an absent `defaulted` member is. */
  otherwise?: unknown;
  isExtension: boolean;
  note?: string;
};

export type Shape =
  | { type: 'any' }
  | { type: 'unit' }
  /** `problem` says what is wrong with a value of the right JSON type. */
  | {
      type: 'value';
      json: 'string' | 'number' | 'boolean';
      expected: string;
      label: string;
      problem(value: unknown): string | undefined;
    }
  | { type: 'choice'; values: readonly string[] }
  | { type: 'list'; item: Shape }
  | { type: 'map'; value: Shape }
  | { type: 'nullable'; inner: Shape }
  | { type: 'struct'; name: string; members: readonly Member[] }
  | { type: 'tagged'; name: string; tag: string; variants: ReadonlyMap<string, readonly Member[]> };

type Schema = z.core.$ZodType;

/** Zod types a schema by what it accepts; what it is made of is in this union. */
const defOf = (schema: Schema): z.core.$ZodTypes['_zod']['def'] => (schema as z.core.$ZodTypes)._zod.def;

/** The shape of a schema; objects without a name of their own get `name`. */
export function shapeOf(schema: Schema, name = 'object'): Shape {
  const known = facts.get(schema);
  if (known?.textMap) return { type: 'map', value: shapeOf(z.string()) };
  if (known?.expected !== undefined) return valueShape(schema, known.expected, known.label);
  const def = defOf(schema);
  switch (def.type) {
    case 'null':
      return { type: 'unit' };
    case 'string':
      return valueShape(schema, 'a string', 'string');
    case 'boolean':
      return valueShape(schema, 'a boolean', 'boolean');
    case 'enum':
      return { type: 'choice', values: Object.values(def.entries).map(String) };
    case 'array':
      return { type: 'list', item: shapeOf(def.element) };
    case 'record':
      return { type: 'map', value: shapeOf(def.valueType) };
    case 'nullable':
      return { type: 'nullable', inner: shapeOf(def.innerType) };
    case 'optional':
    case 'default':
    case 'prefault':
      return shapeOf(def.innerType);
    case 'pipe':
      return shapeOf(wireSide(def), name);
    case 'object':
      return { type: 'struct', name: known?.name ?? name, members: membersOf(def) };
    case 'union':
      return taggedShape(def, known?.name ?? name);
    default:
      return { type: 'any' };
  }
}

/** Of two schemas in a row the one that describes the wire: the second only converts, or the first only guards. */
function wireSide(def: z.core.$ZodPipeDef): Schema {
  return defOf(def.out).type === 'transform' ? def.in : def.out;
}

function valueShape(schema: Schema, expected: string, label = expected): Shape {
  const json = expected === 'a string' ? 'string' : expected === 'a boolean' ? 'boolean' : 'number';
  const problem = (value: unknown): string | undefined => z.safeParse(schema, value).error?.issues[0]?.message;
  return { type: 'value', json, expected, label, problem };
}

function membersOf(def: z.core.$ZodObjectDef): Member[] {
  return Object.entries(def.shape).map(([name, schema]) => {
    const { presence, otherwise } = presenceOf(schema);
    const { extension = false, note } = facts.get(schema) ?? {};
    return {
      name,
      shape: shapeOf(schema),
      presence,
      ...(presence === 'defaulted' && { otherwise }),
      isExtension: extension,
      ...(note !== undefined && { note }),
    };
  });
}

type Presence = Pick<Member, 'presence' | 'otherwise'>;

/** Looks through conversions, which are optional when what they convert is. */
function presenceOf(schema: Schema): Presence {
  const def = defOf(schema);
  switch (def.type) {
    case 'optional':
      return { presence: 'optional' };
    case 'default':
    case 'prefault':
      return { presence: 'defaulted', otherwise: def.defaultValue };
    case 'pipe':
      return presenceOf(def.in);
    case 'unknown':
      return { presence: 'optional' };
    default:
      return { presence: 'required' };
  }
}

/** Every union of the contract is one of objects told apart by a literal member. */
function taggedShape(def: z.core.$ZodUnionDef, name: string): Shape {
  const tag = 'discriminator' in def ? String(def.discriminator) : '';
  const variants = new Map<string, readonly Member[]>();
  for (const option of def.options) {
    const object = defOf(option);
    const literal = object.type === 'object' && object.shape[tag];
    if (object.type !== 'object' || !literal) throw new Error(`union ${name} cannot be told apart by its members`);
    const [value] = literal._zod.values ?? [];
    const members = membersOf(object).filter((member) => member.name !== tag);
    variants.set(String(value), members);
  }
  return { type: 'tagged', name, tag, variants };
}
