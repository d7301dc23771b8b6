import { Warnings } from "../driver/warnings.ts";
import type { CheckpointContext } from "./context.ts";
import { catchUpIndex } from "./searching.ts";

/** Large batches: each becomes one segment of the index, and segments that are merged later leave free pages behind. */
export const APPENDS_PER_INDEXING = 256;

/**
 * Keeps the backlog short of an index that a driver brings up to date after the
 * appends and not in them (`ThreadLog.catchUp`). There is one for each log,
 * whoever appends: a checkpointer, and the service that stands on it.
 */
export class DeferredIndex {
  readonly #context: CheckpointContext;
  #unindexed = 0;
  #indexing: Promise<void> = Promise.resolve();

  constructor(context: CheckpointContext) {
    this.#context = context;
  }

  /** To be called after every append that may have brought words. A failure to index harms no append; the next search meets it and reports it. */
  appended(): void {
    const { log } = this.#context;
    if (log.catchUp === undefined || ++this.#unindexed < APPENDS_PER_INDEXING) return;
    this.#unindexed = 0;
    this.#indexing = this.#indexing.then(() => this.#catchUp()).catch(() => undefined);
  }

  /** When nothing is being indexed any more. Closing ends what is under way after its next batch. */
  settled(): Promise<void> {
    return this.#indexing;
  }

  async #catchUp(): Promise<void> {
    if (!this.#context.closing.aborted) await catchUpIndex(this.#context, new Warnings());
  }
}
