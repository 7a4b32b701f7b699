/**
 * The contract as JSON Schema, for programs in other languages: one definition per params, result and named object, in
 * wire form. Printed into docs/protocol.schema.json; nothing at run time uses it.
 */
import * as z from 'zod/mini';
import type { Table } from './table.ts';
import { facts, guarded } from './values.ts';

type Json = Record<string, unknown>;
type Visit = (schema: z.core.$ZodType, json: Json) => void;
type Names = z.core.$ZodRegistry<{ id: string }>;

/** Definitions are called `<method>.params` and `<method>.result`, objects by their own name. */
export function toJsonSchema(title: string, tables: readonly Table[]): Json {
  const names: Names = z.registry<{ id: string }>();
  for (const [method, { params, result }] of tables.flatMap((table) => Object.entries(table))) {
    // A schema may serve several methods, but has one place in the registry.
    names.add(params.clone(), { id: `${method}.params` });
    if (result !== undefined) names.add(result.clone(), { id: `${method}.result` });
  }
  for (const [id, schema] of namedSchemas(names)) names.add(schema, { id });
  const $defs = convert(names, (schema, json) => Object.assign(json, additions(schema)));
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title, $defs };
}

/** The objects that bear a name anywhere below what is registered; found by converting once for the visits alone. */
function namedSchemas(names: Names): Map<string, z.core.$ZodType> {
  const found = new Map<string, z.core.$ZodType>();
  convert(names, (schema) => {
    const { name } = facts.get(schema) ?? {};
    if (name !== undefined && !names.has(schema)) found.set(name, schema);
  });
  return found;
}

function convert(names: Names, visit: Visit): Record<string, Json> {
  const { schemas } = z.toJSONSchema(names, {
    ...OPTIONS,
    uri: (id) => `#/$defs/${id.replaceAll('/', '~1')}`,
    override: ({ zodSchema, jsonSchema }) => visit(zodSchema, jsonSchema),
  });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutHead(schema)]));
}

const OPTIONS = { io: 'input', unrepresentable: 'any' } as const;

const withoutHead = ({ $schema: _schema, $id: _id, ...definition }: Json): Json => definition;

function additions(schema: z.core.$ZodType): Json {
  const { json, note, extension } = facts.get(schema) ?? {};
  const object = guarded.get(schema);
  return {
    ...(object !== undefined && inline(object)),
    ...json,
    ...(note !== undefined && { description: note }),
    ...(extension && { 'x-extension': true }),
  };
}

/** Without definitions of its own: what a guard stands before has no named objects in it. */
function inline(schema: z.core.$ZodType): Json {
  const override = ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: Json }): void => {
    Object.assign(jsonSchema, additions(zodSchema));
  };
  return withoutHead({ ...z.toJSONSchema(schema, { ...OPTIONS, override }) });
}
