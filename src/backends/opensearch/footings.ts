import type { Thread } from "./documents.ts";
import type { Revision } from "./requests.ts";

/** A head document that this process read or wrote: the next append to the thread can start from it without a read. */
export interface Footing {
  readonly thread: Thread;
  readonly revision: Revision;
  /** Whether everything that the document lists is known to be done. */
  readonly finished: boolean;
}

/** The total size of the records that are kept in memory. */
const CAPACITY_BYTES = 16 * 1024 * 1024;
/** The size of a footing besides its record. */
const OVERHEAD_BYTES = 2048;

/** A cache of the latest footings. A miss costs one read. */
export class Footings {
  readonly #footings = new Map<string, Footing>();
  #bytes = 0;

  /** Used once: if it is stale, the next read tells why. */
  take(threadId: string): Footing | undefined {
    const footing = this.#footings.get(threadId);
    if (footing === undefined) return undefined;
    this.#footings.delete(threadId);
    this.#bytes -= sizeOf(footing);
    return footing;
  }

  put(footing: Footing): void {
    const { threadId } = footing.thread;
    this.take(threadId);
    this.#footings.set(threadId, footing);
    this.#bytes += sizeOf(footing);
    for (const oldest of this.#footings.keys()) {
      if (this.#bytes <= CAPACITY_BYTES) return;
      this.take(oldest);
    }
  }
}

const sizeOf = ({ thread: { tail, edits } }: Footing): number =>
  [tail, ...(edits?.replace ?? [])].reduce((sum, { body }) => sum + body.byteLength, OVERHEAD_BYTES);
