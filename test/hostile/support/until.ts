/** Waits for what the system shows and nobody announces; the runner's own poll works inside tests only, not in hooks. */
const LOOK_EVERY_MS = 20;
const GIVE_UP_AFTER_MS = 10_000;

/** Resolves with the first value that is accepted; rejects with the last one seen. */
export async function until<T>(look: () => T | Promise<T>, accepts: (value: T) => boolean, what: string): Promise<T> {
  const giveUpAt = performance.now() + GIVE_UP_AFTER_MS;
  for (;;) {
    const value = await look();
    if (accepts(value)) return value;
    if (performance.now() > giveUpAt)
      throw new Error(`waited in vain for ${what}; last seen: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Long enough for anything that still moves to be seen moving, on a busy machine too. */
const STILL_MS = 200;

/** Resolves once the value, which must not be 0, has not changed for a while. */
export async function untilStill(look: () => number, what: string): Promise<number> {
  let last = look();
  let since = performance.now();
  return await until(
    look,
    (value) => {
      if (value !== last || value === 0) since = performance.now();
      last = value;
      return performance.now() - since > STILL_MS;
    },
    what,
  );
}
