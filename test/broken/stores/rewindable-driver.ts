import type { Change, FullStoreDriver, WriteOutcome } from "../../../src/store/driver/store-driver.ts";
import { ReferenceDriver } from "./reference-driver.ts";

/** A storage in memory that can be put back: an empty one is written again what the copy was written. */
export class RewindableStoreDriver extends ReferenceDriver {
  readonly #empty: () => FullStoreDriver;
  #current: FullStoreDriver;
  #writes: readonly (readonly Change[])[] = [];

  constructor(empty: () => FullStoreDriver) {
    const first = empty();
    super(first);
    this.#empty = empty;
    this.#current = first;
  }

  override async write(changes: readonly Change[]): Promise<WriteOutcome> {
    const outcome = await super.write(changes);
    if (outcome.applied) this.#writes = [...this.#writes, changes];
    return outcome;
  }

  /** What it returns puts the storage back to what it is now. */
  readonly copy = async (): Promise<() => Promise<void>> => {
    const kept = this.#writes;
    return async () => {
      const older = this.#empty();
      for (const changes of kept) await older.write(changes);
      this.#current = older;
      this.#writes = kept;
    };
  };

  protected override reach(): FullStoreDriver {
    super.reach();
    return this.#current;
  }
}
