import { Recent } from "../../internal/recent.ts";
import type { SegmentIndex } from "./segment-file.ts";

/** About fifty bytes each. */
const MOST_ROWS = 500_000;

/** Indexes of segments that were read, so that paging through a history reads each once. */
export class SegmentIndexes {
  readonly #byPath = new Recent<SegmentIndex>(MOST_ROWS);

  /** A segment may be written anew under the same name: its checksum tells. */
  get(path: string, checksum: string): SegmentIndex | undefined {
    const index = this.#byPath.get(path);
    return index?.checksum === checksum ? index : undefined;
  }

  set(path: string, index: SegmentIndex): void {
    this.#byPath.set(path, index, 1 + index.rows.length);
  }
}
