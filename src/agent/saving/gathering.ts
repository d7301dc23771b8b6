/**
 * Those who are about to ask for a save. A write that gathers waits for them, so
 * that the model's message and the claims of the calls it asks for are one write,
 * also where a schema, a guard or a hook takes a moment before the claim.
 */
export class Gathering {
  #expected = 0;
  #onComplete: () => void = () => undefined;

  /**
   * A save is about to be requested. Call the returned function when that was done,
   * or will not be; calling it again does nothing.
   */
  expect(): () => void {
    this.#expected++;
    let isExpected = true;
    return () => {
      if (!isExpected) return;
      isExpected = false;
      this.#expected--;
      if (this.#expected === 0) this.#onComplete();
    };
  }

  /** Resolves when all expected saves were requested, or after a while: waiting longer than a write takes gains nothing. */
  async complete(): Promise<void> {
    await turn();
    if (this.#expected === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LONGEST_MS);
      this.#onComplete = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const LONGEST_MS = 50;

/** Lets everything in the same turn of the event loop come first, such as the beginning of several calls. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
