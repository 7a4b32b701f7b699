/**
 * The params of one call, checked against the row of its method. What fits the schema is decided by the schema alone;
 * only what does not is looked at a second time, for the spellings the reference also accepts and for its error texts.
 */
import { ExecError } from '../protocol/errors.ts';
import { type Shape, shapeOf } from '../protocol/shape.ts';
import type { Row } from '../protocol/table.ts';
import { normalise } from './normalise-params.ts';

/** Decoded params as the row's handler wants them; throws `invalidParams` with the text for the peer. */
export function decodeParams(row: Row, params: unknown): unknown {
  const parsed = row.params.safeParse(params ?? null);
  return parsed.success ? parsed.data : decodeOtherSpelling(row, params ?? null);
}

function decodeOtherSpelling(row: Row, params: unknown): unknown {
  const parsed = row.params.safeParse(normalise(paramsShape(row), params));
  if (parsed.success) return parsed.data;
  // Not reached while schemas and shapes agree, which a test sees to.
  throw new ExecError('invalidParams', parsed.error.issues[0]?.message ?? 'invalid params');
}

const shapes = new WeakMap<Row, Shape>();

function paramsShape(row: Row): Shape {
  const shape = shapes.get(row) ?? shapeOf(row.params, row.struct);
  shapes.set(row, shape);
  return shape;
}
