import { dot, norm } from "./vectors.ts";

/** A vector by the number of its row, which is never used for another. */
export interface CachedVector {
  readonly vector: Float32Array;
  readonly norm: number;
}

/**
 * Vectors that were read before, up to so many bytes. Rows of vectors never
 * change and their numbers never come again, so nothing in here can be wrong;
 * what was deleted meanwhile is simply not asked for.
 */
export class VectorCache {
  readonly #mostBytes: number;
  readonly #vectors = new Map<number, CachedVector>();
  #bytes = 0;

  constructor(mostBytes: number = 64 * 1024 * 1024) {
    this.#mostBytes = mostBytes;
  }

  get(row: number): CachedVector | undefined {
    return this.#vectors.get(row);
  }

  /** Keeps it while there is room. When there is no more, all are forgotten: those that are in use come back first. */
  add(row: number, vector: Float32Array): CachedVector {
    const cached = { vector, norm: norm(vector) };
    if (this.#bytes + vector.byteLength > this.#mostBytes) {
      this.#vectors.clear();
      this.#bytes = 0;
    }
    this.#vectors.set(row, cached);
    this.#bytes += vector.byteLength;
    return cached;
  }
}

export const similarity = (query: CachedVector, other: CachedVector): number =>
  Math.max(-1, Math.min(1, dot(query.vector, other.vector) / (query.norm * other.norm)));
