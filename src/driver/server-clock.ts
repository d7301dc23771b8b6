import { StateError } from "../errors.ts";

/**
 * The clock of a server, from the dates that it writes on its answers. They are cut to whole seconds,
 * so one alone says it to within a second, and several narrow it down.
 */
export class ServerClock {
  readonly #local: () => number;
  /** How far the server's clock is ahead of this one: at least and at most. */
  #least = Number.NEGATIVE_INFINITY;
  #most = Number.POSITIVE_INFINITY;
  #last = 0;

  /** `local` never goes back: when it begins does not matter. */
  constructor(local: () => number = () => performance.now()) {
    this.#local = local;
  }

  /** To be called before a request; what it returns takes the date of the answer, if it has one. */
  ask(): (date: string | null | undefined) => void {
    const asked = this.#local();
    return (date) => {
      const at = Date.parse(date ?? "");
      if (Number.isNaN(at)) return;
      const [least, most] = [at - this.#local(), at + 1000 - asked];
      // The two exclude each other if one of the clocks was set, or this machine slept: only the newest counts then.
      const isSet = least > this.#most || most < this.#least;
      this.#least = isSet ? least : Math.max(least, this.#least);
      this.#most = isSet ? most : Math.min(most, this.#most);
    };
  }

  /** Milliseconds since 1970, never less than before. Makes a request if there was none yet. */
  async now(request: () => Promise<unknown>): Promise<number> {
    if (this.#most === Number.POSITIVE_INFINITY) await request();
    if (this.#most === Number.POSITIVE_INFINITY) {
      throw new StateError(
        "UNSUPPORTED",
        "the answers of the storage have no date, by which items are stamped and end: something on the way takes headers out",
      );
    }
    this.#last = Math.max(this.#last, Math.round(this.#local() + (this.#least + this.#most) / 2));
    return this.#last;
  }
}
