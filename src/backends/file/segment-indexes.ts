import { Recent } from "../../internal/recent.ts";
import type { SegmentIndex } from "./segment-file.ts";

/**
 * About a hundred bytes per row, in every open checkpointer. The thread that is
 * being paged through is kept however long it is.
 */
const MOST_ROWS = 50_000;

/** Caches indexes of segments, so that paging through a history reads each one once. */
export class SegmentIndexes {
  readonly #byPath = new Recent<SegmentIndex>(MOST_ROWS);

  /** A segment may be rewritten under the same name: the checksum tells. */
  get(path: string, checksum: string): SegmentIndex | undefined {
    const index = this.#byPath.get(path);
    return index?.checksum === checksum ? index : undefined;
  }

  set(path: string, index: SegmentIndex): void {
    this.#byPath.set(path, index, 1 + index.rows.length);
  }
}
