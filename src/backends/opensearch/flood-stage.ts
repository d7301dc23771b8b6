import { classify } from "./classify.ts";
import type { Requests } from "./requests.ts";

/**
 * Past the flood-stage watermark OpenSearch puts a block on an index. It is
 * called read_only_allow_delete and means the deletion of the index: documents
 * cannot be deleted either, though that is what frees space. So a deletion that
 * is refused takes the block away and puts it back when it is done. Should
 * that fail, the server does it: it looks at its disks every half minute.
 */
export class FloodStage {
  /** How many deletions of this process need the block to be away. */
  #deleting = 0;
  #wasLifted = false;

  /** `isDeletion` is asked when the block has refused it. */
  async despite<Result>(
    requests: Requests,
    deletion: () => Promise<Result>,
    isDeletion: () => boolean = () => true,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await (attempt === 1 ? deletion() : this.#withoutBlock(requests, deletion));
      } catch (error) {
        // Another process may have put it back in the middle of ours.
        if (!isBlocked(error) || !isDeletion() || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #withoutBlock<Result>(requests: Requests, deletion: () => Promise<Result>): Promise<Result> {
    this.#deleting++;
    try {
      // Where that is not permitted, the deletion fails again and says why.
      await this.#lift(requests).catch(() => undefined);
      return await deletion();
    } finally {
      this.#deleting--;
      if (this.#deleting === 0 && this.#wasLifted) {
        this.#wasLifted = false;
        await requests.setFloodBlock(true).catch(() => undefined);
      }
    }
  }

  /** Only a block that is still there is put back later: the server may have found space meanwhile. */
  async #lift(requests: Requests): Promise<void> {
    if (!(await requests.hasFloodBlock())) return;
    await requests.setFloodBlock(false);
    this.#wasLifted = true;
  }
}

const ATTEMPTS = 5;

const isBlocked = (error: unknown): boolean =>
  classify(error) === "STORAGE_FULL" && /read-only-allow-delete|flood-stage/i.test((error as Error).message);
