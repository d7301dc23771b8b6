/**
 * Work that no run waits for: in turn for each name, all of them side by side. Nothing
 * is lost silently: a process that ends waits for `settled`, and failures are reported.
 */
export class InBackground {
  readonly #running = new Map<string, Promise<void>>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  start(name: string, work: () => Promise<void>): void {
    const before = this.#running.get(name) ?? Promise.resolve();
    const running = before.then(work).catch(this.#onError);
    this.#running.set(name, running);
    void running.then(() => {
      if (this.#running.get(name) === running) this.#running.delete(name);
    });
  }

  /** Resolves when everything that was started has come to its end, also what was started meanwhile. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }
}
