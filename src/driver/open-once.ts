/**
 * Opens something at most once, however many callers ask. A failure is not
 * remembered, so the next caller tries again.
 */
export class OpenOnce<Opened> {
  readonly #open: () => Promise<Opened>;
  #opening: Promise<Opened> | undefined;

  constructor(open: () => Promise<Opened>) {
    this.#open = open;
  }

  get(): Promise<Opened> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /**
   * What is open, or the promise of it; `undefined` before the first call and after a failed opening. Opens
   * nothing.
   */
  async opened(): Promise<Opened | undefined> {
    return this.#opening?.catch(() => undefined);
  }

  /** The next caller opens again. */
  forget(): void {
    this.#opening = undefined;
  }
}
