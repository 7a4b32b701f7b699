/**
 * Wildcard patterns over whole names, case-insensitive: `*` is any run, `?` one character. Patterns come from peers, so
 * all matching of one set shares a budget of steps: no pattern, and no number of patterns, can hold up the server.
 * Pure; knows nothing of what the names mean.
 */
import { ExecError } from '../protocol/errors.ts';

/**
 * Comparisons allowed to one set of patterns. A large honest policy (ten patterns, ten thousand names) takes about a
 * million; this many take some tens of milliseconds.
 */
export const MAX_MATCH_STEPS = 20_000_000;

const STAR = 42;
const QUESTION = 63;

/** A set of patterns that a name matches when it matches any of them. */
export class WildcardSet {
  readonly #plain = new Set<string>();
  readonly #patterns: string[] = [];
  #steps = MAX_MATCH_STEPS;

  constructor(patterns: Iterable<string>) {
    for (const pattern of patterns) {
      const folded = pattern.toLowerCase();
      if (/[*?]/.test(folded)) this.#patterns.push(folded);
      else this.#plain.add(folded);
    }
  }

  /** Throws when the patterns and the names seen so far were too much to compare. */
  matches(name: string): boolean {
    const folded = name.toLowerCase();
    return this.#plain.has(folded) || this.#patterns.some((pattern) => this.#matchesOne(pattern, folded));
  }

  /** Only the last star is ever tried again: the runs of those before it need not grow for a match to be found. */
  #matchesOne(pattern: string, name: string): boolean {
    let at = 0;
    let star = -1;
    let runEnd = 0;
    let position = 0;
    this.#spend();
    while (position < name.length) {
      this.#spend();
      const wanted = pattern.charCodeAt(at); // NaN past the end, which equals nothing
      if (wanted === STAR) {
        star = at++;
        runEnd = position;
      } else if (wanted === QUESTION) {
        at += 1;
        position += (name.codePointAt(position) ?? 0) > 0xffff ? 2 : 1;
      } else if (wanted === name.charCodeAt(position)) {
        at += 1;
        position += 1;
      } else if (star >= 0) {
        at = star + 1;
        runEnd += 1;
        position = runEnd;
      } else {
        return false;
      }
    }
    while (pattern.charCodeAt(at) === STAR) at += 1;
    return at === pattern.length;
  }

  #spend(): void {
    this.#steps -= 1;
    if (this.#steps < 0) throw new ExecError('invalidParams', 'environment policy is too large to apply');
  }
}
