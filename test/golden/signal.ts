/** Waiting for what other parties do: conditions are looked at again whenever something arrived. */
export class Signal {
  readonly #waiting = new Set<() => void>();
  readonly #timeoutMs: number;
  #failure: Error | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Something arrived. */
  notify(): void {
    for (const look of [...this.#waiting]) look();
  }

  /** Nothing that is waited for can be right any more. The first failure counts. */
  fail(failure: Error): void {
    this.#failure ??= failure;
    this.notify();
  }

  /** The first value other than undefined that `look` gives; what it throws is passed on. */
  until<T>(what: string, look: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (step: () => void): void => {
        clearTimeout(timer);
        clearInterval(poll);
        this.#waiting.delete(attempt);
        step();
      };
      const attempt = (): void => {
        try {
          if (this.#failure) throw this.#failure;
          const value = look();
          if (value !== undefined) settle(() => resolve(value));
        } catch (failure) {
          settle(() => reject(failure));
        }
      };
      const timer = setTimeout(
        () => settle(() => reject(new Error(`waited ${this.#timeoutMs} ms for ${what}`))),
        this.#timeoutMs,
      );
      // The state of processes outside announces itself to nobody.
      const poll = setInterval(attempt, 20);
      this.#waiting.add(attempt);
      attempt();
    });
  }
}
