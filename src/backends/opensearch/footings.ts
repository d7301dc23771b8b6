import type { Thread } from "./documents.ts";
import type { Revision } from "./requests.ts";

/** A head document that this process read or wrote: the next append to the thread can start from it without reading. */
export interface Footing {
  readonly thread: Thread;
  readonly revision: Revision;
  /** Whether all that the document tells is known to be carried out. */
  readonly finished: boolean;
}

/** Records of this size in all are kept in memory. */
const CAPACITY_BYTES = 16 * 1024 * 1024;
/** What a footing takes beside the record. */
const OVERHEAD_BYTES = 2048;

/** The latest footings. Forgetting one costs a read and nothing else. */
export class Footings {
  readonly #footings = new Map<string, Footing>();
  #bytes = 0;

  /** Used once: if it no longer carries, reading tells why. */
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
