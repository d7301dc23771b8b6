import { Warnings } from "../driver/warnings.ts";
import type { CheckpointContext } from "./context.ts";
import { catchUpIndex } from "./searching.ts";

/** Large batches: each becomes one segment of the index, and merging segments later leaves free pages behind. */
export const APPENDS_PER_INDEXING = 256;

/**
 * Keeps the backlog of an index short that a driver updates after appends instead
 * of within them (`ThreadLog.catchUp`). There is one for each log, whoever
 * appends: a checkpointer or the service on top of it.
 */
export class DeferredIndex {
  readonly #context: CheckpointContext;
  #unindexed = 0;
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
    if (log.catchUp === undefined || ++this.#unindexed < APPENDS_PER_INDEXING) return;
    this.#unindexed = 0;
    this.#indexing = this.#indexing.then(() => this.#catchUp()).catch(() => undefined);
  }

  /** Resolves when no indexing is under way. Closing stops it after its next batch. */
  settled(): Promise<void> {
    return this.#indexing;
  }

  async #catchUp(): Promise<void> {
    if (!this.#context.closing.aborted) await catchUpIndex(this.#context, new Warnings());
  }
}
