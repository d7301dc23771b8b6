import { dot, norm } from "./vectors.ts";

/** A vector by the number of its row, which is never used for another. */
export interface CachedVector {
  readonly vector: Float32Array;
  readonly norm: number;
}

/**
 * A cache of vectors, limited in bytes. Rows of vectors never change and their
 * numbers are never reused, so nothing in it can be stale; deleted ones are simply
 * not asked for.
 */
export class VectorCache {
  readonly #mostBytes: number;
  readonly #vectors = new Map<number, CachedVector>();
  #bytes = 0;
  #refused = 0;

  /** Room for 100,000 vectors of 384 numbers, above which another storage is the better one. */
  constructor(mostBytes: number = 160 * 1024 * 1024) {
    this.#mostBytes = mostBytes;
  }

  get(row: number): CachedVector | undefined {
    return this.#vectors.get(row);
  }

  /**
   * Keeps it while there is room. A search goes through all of them in one order,
   * so to make room for the next by forgetting the first would keep nothing that
   * the next search finds. Now and then all are forgotten, because rows that were
   * deleted would hold their room for ever.
   */
  add(row: number, vector: Float32Array): CachedVector {
    const cached = { vector, norm: norm(vector) };
    if (this.#bytes + vector.byteLength > this.#mostBytes) {
      if (++this.#refused < SEARCHES_PER_CLEARING * this.#vectors.size) return cached;
      this.#vectors.clear();
      this.#bytes = 0;
      this.#refused = 0;
    }
    this.#vectors.set(row, cached);
    this.#bytes += vector.byteLength;
    return cached;
  }
}

/** About so many searches through twice as many vectors as there is room for. */
const SEARCHES_PER_CLEARING = 16;

export const similarity = (query: CachedVector, other: CachedVector): number =>
  Math.max(-1, Math.min(1, dot(query.vector, other.vector) / (query.norm * other.norm)));
