import { classify } from "./classify.ts";
import type { Requests } from "./requests.ts";

/**
 * Past the flood-stage watermark OpenSearch blocks an index. The block is called
 * read_only_allow_delete, but it only allows deleting the index: documents cannot be
 * deleted either, though that is what frees space. So a refused deletion lifts the
 * block and restores it afterwards. If that fails, the server restores it itself: it
 * checks its disks every half minute.
 */
export class FloodStage {
  /** How many deletions of this process need the block lifted. */
  #deleting = 0;
  #wasLifted = false;

  /** `isDeletion` is called if the block has refused the write. */
  async despite<Result>(
    requests: Requests,
    deletion: () => Promise<Result>,
    isDeletion: () => boolean = () => true,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await (attempt === 1 ? deletion() : this.#withoutBlock(requests, deletion));
      } catch (error) {
        // Another process may have restored the block meanwhile.
        if (!isBlocked(error) || !isDeletion() || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #withoutBlock<Result>(requests: Requests, deletion: () => Promise<Result>): Promise<Result> {
    this.#deleting++;
    try {
      // If that is not permitted, the deletion fails again and says why.
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

  /** Only a block that is still there is restored later: the server may have found space meanwhile. */
  async #lift(requests: Requests): Promise<void> {
    if (!(await requests.hasFloodBlock())) return;
    await requests.setFloodBlock(false);
    this.#wasLifted = true;
  }
}

const ATTEMPTS = 5;

const isBlocked = (error: unknown): boolean =>
  classify(error) === "STORAGE_FULL" && /read-only-allow-delete|flood-stage/i.test((error as Error).message);
