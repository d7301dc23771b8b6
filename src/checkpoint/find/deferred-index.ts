import { setImmediate as nextTurn } from "node:timers/promises";
import { Warnings } from "../../driver/warnings.ts";
import type { CheckpointContext } from "../context.ts";

/** Large batches: each becomes one segment of the index, and merging segments later leaves free pages behind. */
export const APPENDS_PER_INDEXING = 256;
/** An index is never further behind than this because of appends that do not pause. A search would have to make up for it. */
export const MOST_UNINDEXED: number = 16 * APPENDS_PER_INDEXING;
/** This many turns of the event loop without an append are a pause. */
const QUIET_TURNS = 2;

/**
 * Keeps the backlog of an index short that a driver updates after appends instead of
 * within them (`ThreadLog.catchUp`). There is one for each log, shared by a
 * checkpointer and a service on top of it. Appends come first: as long as they follow
 * one another without a pause, indexing waits, within limits.
 */
export class DeferredIndex {
  readonly #context: CheckpointContext;
  #unindexed = 0;
  #isDue = false;
  #indexing: Promise<void> = Promise.resolve();

  constructor(context: CheckpointContext) {
    this.#context = context;
  }

  /**
   * Call this after every append that may have added words. A failed indexing does
   * not affect the append; the next search meets and reports it.
   */
  appended(): void {
    const { log } = this.#context;
    if (log.capabilities.search !== "deferred" || ++this.#unindexed < APPENDS_PER_INDEXING || this.#isDue) return;
    this.#isDue = true;
    this.#indexing = this.#indexing.then(() => this.#catchUp()).catch(() => undefined);
  }

  /** Resolves when no indexing is under way. Closing stops it after its next batch. */
  settled(): Promise<void> {
    return this.#indexing;
  }

  async #catchUp(): Promise<void> {
    const { closing } = this.#context;
    await this.#pause(closing);
    this.#isDue = false;
    this.#unindexed = 0;
    if (closing.aborted) return;
    const { catchUpIndex } = await import("./searching.ts");
    await catchUpIndex(this.#context, new Warnings());
  }

  /** Resolves when appends have paused, or when it cannot wait for that any longer. */
  async #pause(closing: AbortSignal): Promise<void> {
    let seen = this.#unindexed;
    for (let quiet = 0; quiet < QUIET_TURNS && seen < MOST_UNINDEXED && !closing.aborted; quiet++) {
      await nextTurn();
      if (this.#unindexed > seen) quiet = -1;
      seen = this.#unindexed;
    }
  }
}
