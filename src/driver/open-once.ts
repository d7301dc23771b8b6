/** Opens something at most once, for everybody who asks; a failure is forgotten, so that the next who asks tries again. */
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

  /** What is open, or is being opened; `undefined` where nobody asked, or where opening failed. Opens nothing. */
  async opened(): Promise<Opened | undefined> {
    return this.#opening?.catch(() => undefined);
  }

  /** Whoever asks next opens anew. */
  forget(): void {
    this.#opening = undefined;
  }
}
