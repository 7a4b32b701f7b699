/** JSON as the replayer sees it: parsed values for looking inside, and the raw text for everything that is compared. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [member: string]: Json };

export function parseJson(text: string): Json {
  return JSON.parse(text) as Json;
}

/** The object in a text, or undefined when the text is no JSON object. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // Recordings hold texts that are malformed on purpose.
  }
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member of an object, `{}` when it is missing or no object itself: for looking without asking at every level. */
export function member(value: JsonObject, name: string): JsonObject {
  const inner = value[name];
  return isObject(inner) ? inner : {};
}

/** The same structure with every value replaced by the name of its type: members, their order and their types remain. */
export function shapeOf(value: Json): Json {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (!isObject(value)) return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
}

/** What notifications of one kind have in common: those of one process are built alike. */
export function shapeKey(message: JsonObject): string {
  return `${message.method} ${member(message, 'params').processId}`;
}

const RESULT_ID = /^\{"id":("(?:[^"\\]|\\.)*"|-?\d+),"result":/;
const ERROR_ID = /,"id":("(?:[^"\\]|\\.)*"|-?\d+)\}$/;

/** The id of an answer as it is spelled, because a JavaScript number cannot hold every id. */
export function idText(text: string): string | undefined {
  const exact = RESULT_ID.exec(text) ?? ERROR_ID.exec(text);
  if (exact?.[1] !== undefined) return exact[1];
  const id = parseObject(text)?.id;
  return id === undefined ? undefined : JSON.stringify(id);
}
