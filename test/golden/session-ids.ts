/** Which session of this run each recorded session id stands for. */
import { member, parseObject } from './json.ts';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export class SessionIds {
  readonly #actual = new Map<string, string>();

  map(recorded: string, actual: string): void {
    this.#actual.set(recorded, actual);
  }

  /** A recorded text with the ids of this run. */
  translate(text: string): string {
    return [...this.#actual].reduce((result, [recorded, actual]) => result.replaceAll(recorded, actual), text);
  }

  /** The first answer that names a recorded session says which one it is; `expected` is translated already. */
  learn(expected: string, actual: string): void {
    const recorded = member(parseObject(expected) ?? {}, 'result').sessionId;
    const { sessionId } = member(parseObject(actual) ?? {}, 'result');
    if (typeof recorded !== 'string' || typeof sessionId !== 'string') return;
    if ([...this.#actual.values()].includes(recorded)) return;
    if (!UUID_V4.test(sessionId)) throw new Error(`${sessionId} is not a lower-case UUID of version 4`);
    this.map(recorded, sessionId);
  }
}
