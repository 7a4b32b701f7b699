/** Undo steps run in reverse order, each of them even when another fails. Node 20 lacks AsyncDisposableStack. */
export class Disposables implements AsyncDisposable {
  readonly #steps: (() => unknown)[] = [];

  /** Registers an undo step. */
  defer(step: () => unknown): void {
    this.#steps.push(step);
  }

  /** Registers a resource and hands it back. */
  use<T extends AsyncDisposable | Disposable>(resource: T): T {
    this.defer(() => (Symbol.asyncDispose in resource ? resource[Symbol.asyncDispose]() : resource[Symbol.dispose]()));
    return resource;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await step();
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'several undo steps failed');
  }
}
