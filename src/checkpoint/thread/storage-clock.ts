import type { CheckpointContext } from "../context.ts";

/** Clocks drift and machines sleep, so an older measurement is repeated. */
const GOOD_FOR_MS = 60_000;

/**
 * The storage's clock without asking for it each time: measured once, then
 * advanced with this machine's monotonic clock, which nobody sets. It is never
 * ahead of the storage's own, so that a lease is not taken too early.
 */
export class StorageClock {
  readonly #context: CheckpointContext;
  #measured: { readonly storage: number; readonly at: number } | undefined;
  #measuring: Promise<void> | undefined;

  constructor(context: CheckpointContext) {
    this.#context = context;
  }

  /** Await this before the first `now()`. Asks the storage at most once a minute. */
  async ready(): Promise<void> {
    if (!this.#context.log.capabilities.clock) return;
    if (this.#measured !== undefined && performance.now() - this.#measured.at < GOOD_FOR_MS) return;
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = undefined;
    });
    await this.#measuring;
  }

  now(): number {
    if (this.#measured === undefined) return this.#context.now();
    const { storage, at } = this.#measured;
    const past = performance.now() - at;
    if (past >= GOOD_FOR_MS) void this.ready().catch(() => undefined);
    return storage + past;
  }

  async #measure(): Promise<void> {
    const storage = await this.#context.storageNow();
    this.#measured = { storage, at: performance.now() };
  }
}
