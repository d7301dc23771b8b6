import type { SegmentIndex } from "./segment-file.ts";

/** About fifty bytes each. */
const MOST_ROWS = 500_000;

/** Indexes of segments that were read, so that paging through a history reads each once. Forgetting one costs time and nothing else. */
export class SegmentIndexes {
  readonly #byPath = new Map<string, SegmentIndex>();
  #rows = 0;

  /** A segment may be written anew under the same name: its checksum tells. */
  get(path: string, checksum: string): SegmentIndex | undefined {
    const index = this.#byPath.get(path);
    return index?.checksum === checksum ? index : undefined;
  }

  set(path: string, index: SegmentIndex): void {
    this.#forget(path);
    this.#byPath.set(path, index);
    this.#rows += index.rows.length;
    for (const oldest of this.#byPath.keys()) {
      if (this.#rows <= MOST_ROWS || oldest === path) return;
      this.#forget(oldest);
    }
  }

  #forget(path: string): void {
    this.#rows -= this.#byPath.get(path)?.rows.length ?? 0;
    this.#byPath.delete(path);
  }
}
