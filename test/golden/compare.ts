/**
 * Whether an answer is the recorded one. Texts are compared as they are on the wire, member order included; only what
 * no two runs share is left out, and it is named here. Reads of process output are in compare-read.ts.
 */
import { isObject, type JsonObject, member, parseObject, shapeOf } from './json.ts';
import { shorten } from './peer.ts';

/** The answers differ; both are in the message. */
export class Mismatch extends Error {
  constructor(what: string, expected: string, actual: string) {
    super(`${what}\n  expected ${shorten(expected)}\n  received ${shorten(actual)}`);
  }
}

export function compareAnswer(expected: string, actual: string): void {
  if (expected === actual) return;
  if (maskInfo(expected) !== undefined && maskInfo(expected) === maskInfo(actual)) return;
  throw new Mismatch('the answer differs', expected, actual);
}

/**
 * An answer that describes the environment with its values replaced by their types, for they are the machine's; members
 * and their order stay. Left out are `prependPathDirs`, which names a folder of the recorded program's package, and
 * `extensions`, which is how a server says what it adds to the protocol.
 */
function maskInfo(text: string): string | undefined {
  const message = parseObject(text);
  if (!message || JSON.stringify(message) !== text) return undefined;
  const result = member(message, 'result');
  if (isObject(result.environmentInfo)) {
    return JSON.stringify({ ...message, result: { ...result, environmentInfo: infoShape(result.environmentInfo) } });
  }
  return isObject(result.capabilities) ? JSON.stringify({ ...message, result: infoShape(result) }) : undefined;
}

function infoShape(info: JsonObject): JsonObject {
  const members = Object.entries(info).filter(([name]) => name !== 'prependPathDirs' && name !== 'extensions');
  // A list of as many as there happen to be.
  return Object.fromEntries(members.map(([name, value]) => [name, Array.isArray(value) ? 'list' : shapeOf(value)]));
}
