import { invalid } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import type { StoreAccess } from "../items/store-access.ts";
import { checkedVector, MAX_DIMENSION } from "../search/vectors.ts";

/** The length of a store's vectors: set by an option, by existing vectors, or by the first one. */
export class Dimension {
  readonly #access: StoreAccess;
  readonly #wanted: number | undefined;
  #known: number | undefined;
  #isConfirmed = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(access: StoreAccess, wanted: number | undefined) {
    if (wanted !== undefined && !(Number.isInteger(wanted) && wanted >= 1 && wanted <= MAX_DIMENSION)) {
      throw invalid(`dimension must be a whole number from 1 to ${MAX_DIMENSION}, not ${String(wanted)}`);
    }
    this.#access = access;
    this.#wanted = wanted;
    this.#known = wanted;
  }

  get known(): number | undefined {
    return this.#known;
  }

  /** Whether vectors of this length are known to be stored. */
  get isConfirmed(): boolean {
    return this.#isConfirmed;
  }

  /** Whether there are vectors, of any length, as the storage says now: those that were known may be gone. */
  async hasVectors(): Promise<boolean> {
    await this.#confirm();
    return this.#isConfirmed;
  }

  /**
   * One after another: callers that put the first vectors of the store at the same time.
   */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  /** The vector that was given, as it is stored; refused where it does not fit those that are there. */
  async checked(given: unknown, what: string): Promise<Float32Array> {
    const vector = this.wellFormed(given, what);
    return checkedVector(vector, what, await this.forVectorsOf(vector.length));
  }

  /** The same as far as it is known without asking the storage. */
  wellFormed(given: unknown, what: string): Float32Array {
    return checkedVector(given, what, this.#known);
  }

  /** How many numbers each vector must have, given the length of the first: read once, however many there are. */
  async forVectorsOf(length: number): Promise<number> {
    if (!this.#isConfirmed) await this.#confirm();
    return this.#known ?? length;
  }

  /** After vectors were stored: theirs is the store's. */
  settle(length: number): void {
    this.#known ??= length;
    this.#isConfirmed = true;
  }

  async #confirm(): Promise<void> {
    const stored = await this.#access.call({ operation: "dimension" }, async (driver) => driver.dimension?.([]));
    if (stored === undefined) {
      [this.#known, this.#isConfirmed] = [this.#wanted, false];
      return;
    }
    if (this.#wanted !== undefined && this.#wanted !== stored) {
      const message = `the store holds vectors of ${stored} numbers, and the option dimension is ${this.#wanted}: keep other vectors in a store of their own`;
      throw new StateError("INVALID_ARGUMENT", message, { backend: this.#access.driver.name });
    }
    this.#known = stored;
    this.#isConfirmed = true;
  }
}
