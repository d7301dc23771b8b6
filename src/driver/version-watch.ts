import { assertKnown, type MigratedStore, type Part } from "./migrations.ts";

/** How long a process relies on the version that it saw last. */
export const VERSION_IS_GOOD_FOR_MS = 5_000;

/**
 * Notices that another process migrated a part that is in use here, for storages in
 * which looking is a round trip: so one call in five seconds looks, before it does
 * what it is for. Until then a newer build reads and writes beside this one, for which
 * migrations are made.
 */
export class VersionWatch {
  readonly #store: Pick<MigratedStore, "versions">;
  readonly #parts: readonly Part[];
  #lookedAt = performance.now();
  #looking: Promise<void> | undefined;

  /** Made when the parts were found to be current. */
  constructor(store: Pick<MigratedStore, "versions">, parts: readonly Part[]) {
    this.#store = store;
    this.#parts = parts;
  }

  /** Throws INCOMPATIBLE if a part is too new by now; `undefined` while the last look is good. */
  assertCurrent(): Promise<void> | undefined {
    if (performance.now() - this.#lookedAt < VERSION_IS_GOOD_FOR_MS) return undefined;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const begun = performance.now();
    const found = await this.#store.versions();
    for (const { name, migrations } of this.#parts) assertKnown(name, found?.[name] ?? 0, migrations.length);
    this.#lookedAt = begun;
  }
}
