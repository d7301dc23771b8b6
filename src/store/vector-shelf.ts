import type { Namespace } from "./store-driver.ts";
import type { VectorTable } from "./vector-table.ts";

/** Room for 100,000 vectors of 384 numbers, above which another storage is the better one. */
const MOST_BYTES = 192 * 1024 * 1024;
const MOST_TABLES = 1000;

/** Which vectors a table holds: those of a scope that have one length. */
export interface VectorScope {
  readonly namespace: Namespace;
  readonly recursive: boolean;
  readonly dimension: number;
}

/** Tables of vectors that were searched lately, limited by their bytes altogether. */
export class VectorShelf<Key> {
  readonly #mostBytes: number;
  readonly #tables = new Map<string, VectorTable<Key>>();
  readonly #askedOnce = new Set<string>();

  constructor(mostBytes: number = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  get(scope: VectorScope): VectorTable<Key> | undefined {
    return this.#tables.get(nameOf(scope));
  }

  /** Whether a scope was asked about before: what is asked for once need not be kept. */
  wasAsked(scope: VectorScope): boolean {
    const name = nameOf(scope);
    if (this.#askedOnce.has(name)) return true;
    if (this.#askedOnce.size >= MOST_TABLES) this.#askedOnce.clear();
    this.#askedOnce.add(name);
    return false;
  }

  /** Whether this many more rows can be kept at all. */
  hasRoomFor(rows: number, { dimension }: VectorScope): boolean {
    return rows * dimension * Float32Array.BYTES_PER_ELEMENT <= this.#mostBytes;
  }

  /** Keeps a table, as the one that was used last; those that were not used for longest go. False where it has no room by itself. */
  keep(scope: VectorScope, table: VectorTable<Key>): boolean {
    const name = nameOf(scope);
    this.#tables.delete(name);
    if (table.bytes > this.#mostBytes) return false;
    this.#tables.set(name, table);
    let bytes = 0;
    for (const each of this.#tables.values()) bytes += each.bytes;
    for (const [other, each] of this.#tables) {
      if (bytes <= this.#mostBytes && this.#tables.size <= MOST_TABLES) break;
      if (other === name) continue;
      this.#tables.delete(other);
      bytes -= each.bytes;
    }
    return true;
  }

  forget(scope: VectorScope): undefined {
    this.#tables.delete(nameOf(scope));
  }
}

const nameOf = ({ namespace, recursive, dimension }: VectorScope): string =>
  JSON.stringify([dimension, recursive, ...namespace]);
