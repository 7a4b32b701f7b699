/**
 * Goes through params as the reference's decoder does: in document order, stopping at the first fault. What comes back
 * is the ordinary spelling of what was given: positional arrays as objects, one-key objects as the choice they name,
 * `{}` as nothing where nothing is wanted. It converts no values; schemas do that.
 */
import { ExecError } from '../protocol/errors.ts';
import type { Member, Shape } from '../protocol/shape.ts';
import { describeValue, jsonType, shorten } from './describe-value.ts';

type Of<T extends Shape['type']> = Extract<Shape, { type: T }>;
type Members = Record<string, unknown>;

export function normalise(shape: Shape, value: unknown): unknown {
  switch (shape.type) {
    case 'any':
      return value;
    case 'unit':
      return normaliseUnit(value);
    case 'value':
      return checkValue(shape, value);
    case 'choice':
      return normaliseChoice(shape, value);
    case 'list':
      if (!Array.isArray(value)) throw wrongType(value, 'a sequence');
      return value.map((item: unknown) => normalise(shape.item, item));
    case 'map':
      return normaliseMap(shape, value);
    case 'nullable':
      return value === null ? null : normalise(shape.inner, value);
    case 'struct':
      return Array.isArray(value) ? fromArray(shape, value) : normaliseStruct(shape, value);
    case 'tagged':
      return normaliseTagged(shape, value);
  }
}

function normaliseUnit(value: unknown): null {
  if (value === null || (isMembers(value) && Object.keys(value).length === 0)) return null;
  throw wrongType(value, 'unit');
}

function checkValue(shape: Of<'value'>, value: unknown): unknown {
  if (jsonType(value) !== shape.json) throw wrongType(value, shape.expected);
  const problem = shape.problem(value);
  if (problem !== undefined) throw fault(problem);
  return value;
}

function normaliseChoice(shape: Of<'choice'>, value: unknown): string {
  if (typeof value === 'string') return checkVariant(shape.values, value);
  if (!isMembers(value)) throw wrongType(value, 'string or map');
  const [entry, ...more] = Object.entries(value);
  if (entry === undefined || more.length > 0) throw fault('invalid value: map, expected map with a single key');
  const variant = checkVariant(shape.values, entry[0]);
  if (entry[1] !== null) throw wrongType(entry[1], 'unit');
  return variant;
}

function checkVariant(values: readonly string[], value: string): string {
  if (values.includes(value)) return value;
  const quoted = values.map((name) => `\`${name}\``);
  const expected = quoted.length > 2 ? `one of ${quoted.join(', ')}` : quoted.join(' or ');
  throw fault(`unknown variant \`${shorten(value)}\`, expected ${expected}`);
}

function normaliseMap(shape: Of<'map'>, value: unknown): Members {
  if (!isMembers(value)) throw wrongType(value, 'a map');
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normalise(shape.value, item)]));
}

function normaliseStruct(shape: Of<'struct'>, value: unknown): Members {
  if (!isMembers(value)) throw wrongType(value, `struct ${shape.name}`);
  return normaliseMembers(shape.members, value);
}

/** Faults of members that are there come first, in the order they were written; absent ones after, as declared. */
function normaliseMembers(members: readonly Member[], value: Members): Members {
  const normalised: Members = {};
  for (const [name, item] of Object.entries(value)) {
    const member = members.find((candidate) => candidate.name === name);
    if (member !== undefined) normalised[name] = normalise(member.shape, item);
  }
  for (const { name, presence } of members) {
    if (presence === 'required' && !Object.hasOwn(normalised, name)) throw fault(`missing field \`${name}\``);
  }
  return normalised;
}

/** All of the reference's members in order; only those with a default may be missing. */
function fromArray(shape: Of<'struct'>, items: readonly unknown[]): Members {
  const members = shape.members.filter((member) => !member.isExtension);
  const normalised: Members = {};
  for (const [index, { name, shape: memberShape, presence }] of members.entries()) {
    if (index < items.length) normalised[name] = normalise(memberShape, items[index]);
    else if (presence !== 'defaulted') {
      const elements = members.length === 1 ? '1 element' : `${members.length} elements`;
      throw fault(`invalid length ${index}, expected struct ${shape.name} with ${elements}`);
    }
  }
  if (items.length > members.length) throw fault(`invalid length ${items.length}, expected fewer elements in array`);
  return normalised;
}

function normaliseTagged(shape: Of<'tagged'>, value: unknown): Members {
  if (!isMembers(value)) throw wrongType(value, `internally tagged enum ${shape.name}`);
  const { [shape.tag]: tag, ...rest } = value;
  if (tag === undefined) throw fault(`missing field \`${shape.tag}\``);
  if (typeof tag !== 'string') throw wrongType(tag, 'variant identifier');
  const members = shape.variants.get(checkVariant([...shape.variants.keys()], tag)) ?? [];
  return { [shape.tag]: tag, ...normaliseMembers(members, rest) };
}

const isMembers = (value: unknown): value is Members => jsonType(value) === 'map';
const fault = (text: string): ExecError => new ExecError('invalidParams', text);
const wrongType = (value: unknown, expected: string): ExecError =>
  fault(`invalid type: ${describeValue(value)}, expected ${expected}`);
