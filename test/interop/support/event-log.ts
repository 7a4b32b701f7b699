/**
 * Everything of one kind that happened in a test, in order, and the way to wait for more of it. A wait looks at the
 * past first, so there is no race between causing an event and awaiting it; it never sleeps, and gives up by itself.
 */

// Far beyond anything seen on a busy machine, yet below the time limit of a test.
const WAIT_MS = 20_000;

/** The promise's own outcome, or a failure that says what was waited for. */
export async function within<T>(what: string, promise: Promise<T>, waitMs: number = WAIT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${waitMs / 1000} s for ${what}`)), waitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export class EventLog<T> {
  readonly #entries: T[] = [];
  readonly #watchers = new Set<(entry: T) => void>();

  get entries(): readonly T[] {
    return this.#entries;
  }

  add(entry: T): void {
    this.#entries.push(entry);
    for (const watcher of [...this.#watchers]) watcher(entry);
  }

  /** What `pick` makes of the first entry, past or to come, for which it returns something. */
  async first<R>(what: string, pick: (entry: T) => R | undefined): Promise<R> {
    for (const entry of this.#entries) {
      const picked = pick(entry);
      if (picked !== undefined) return picked;
    }
    let watcher: ((entry: T) => void) | undefined;
    const coming = new Promise<R>((resolve) => {
      watcher = (entry) => {
        const picked = pick(entry);
        if (picked !== undefined) resolve(picked);
      };
      this.#watchers.add(watcher);
    });
    try {
      return await within(what, coming);
    } finally {
      if (watcher) this.#watchers.delete(watcher);
    }
  }
}
