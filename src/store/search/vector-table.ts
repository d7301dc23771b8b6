import type { JsonValue } from "../../state/values/codec.ts";
import type { Condition, FieldPath, Namespace } from "../driver/store-driver.ts";
import { type FieldReader, fieldReader, type ItemFields, predicate } from "./item-fields.ts";
import { TopHits } from "./top-hits.ts";
import { dot, norm } from "./vectors.ts";

/** A vector as a storage holds it. Whatever changes of its item changes `stamp`, its version. */
export interface VectorRow<Key> {
  readonly key: Key;
  readonly stamp: string;
  /** When the item ends, if it does. */
  readonly end: number | undefined;
  readonly vector: Float32Array;
}

export interface VectorHit<Key> {
  readonly key: Key;
  readonly stamp: string;
  /** The cosine. */
  readonly score: number;
}

export interface VectorQuestion {
  readonly vector: Float32Array;
  readonly limit: number;
  readonly condition: Condition | undefined;
  /** By the storage's clock. */
  readonly now: number;
}

export interface TableMark {
  readonly change: number;
  /** Without one, the mark is before all changes. */
  readonly version: string | undefined;
}

const BEFORE_ALL: TableMark = { change: 0, version: undefined };

interface Column {
  readonly read: (fields: ItemFields) => JsonValue | undefined;
  readonly values: (JsonValue | undefined)[];
  bytes: number;
  /** Whether the fields of all rows are in it, and not only of those that were set since. */
  isFull: boolean;
}

/** How many fields a table keeps for filters; beyond that, the oldest is dropped. */
const MOST_COLUMNS = 8;
/** About what a row takes beside its vector, and a field beside its text. */
const ROW_BYTES = 120;
const FIELD_BYTES = 16;

/**
 * The vectors of one scope, as they were read: one behind the other in one piece of
 * memory, with the fields that filters asked for beside them. The copy can be stale: a
 * search first takes in what is newer than `mark`, and checks the stamps of its results
 * last.
 */
export class VectorTable<Key> {
  readonly dimension: number;
  /** Up to which change of the storage it is complete, and which write that was. */
  mark: TableMark = BEFORE_ALL;
  #matrix = new Float32Array(0);
  readonly #keys: Key[] = [];
  readonly #stamps: string[] = [];
  readonly #ends: number[] = [];
  readonly #norms: number[] = [];
  readonly #places = new Map<Key, number>();
  readonly #columns = new Map<string, Column>();
  #sizeWhenLoaded = 0;

  constructor(dimension: number) {
    this.dimension = dimension;
  }

  get size(): number {
    return this.#keys.length;
  }

  get bytes(): number {
    let bytes = this.#matrix.byteLength + this.size * ROW_BYTES;
    for (const column of this.#columns.values()) bytes += column.bytes;
    return bytes;
  }

  keys(): IterableIterator<Key> {
    return this.#places.keys();
  }

  /** All rows as of a change are in it. */
  loaded(mark: TableMark): void {
    this.mark = mark;
    this.#sizeWhenLoaded = this.size;
  }

  /** Rows that were removed stay until a search finds them gone: a table that grew a lot may hold many of them. */
  get isOutgrown(): boolean {
    return this.size > 2 * this.#sizeWhenLoaded + 1000;
  }

  /** Whether rows have to be set with their fields. */
  get hasColumns(): boolean {
    return this.#columns.size > 0;
  }

  /** In place of the row with the same key. */
  set({ key, stamp, end = Number.POSITIVE_INFINITY, vector }: VectorRow<Key>, fields?: ItemFields): void {
    const at = this.#places.get(key) ?? this.size;
    if ((at + 1) * this.dimension > this.#matrix.length) this.#grow();
    this.#places.set(key, at);
    this.#keys[at] = key;
    this.#stamps[at] = stamp;
    this.#ends[at] = end;
    this.#norms[at] = norm(vector);
    this.#matrix.set(vector, at * this.dimension);
    for (const column of this.#columns.values()) fill(column, at, fields);
  }

  delete(key: Key): void {
    const at = this.#places.get(key);
    if (at === undefined) return;
    const last = this.size - 1;
    const moved = this.#keys[last] as Key;
    this.#matrix.copyWithin(at * this.dimension, last * this.dimension, (last + 1) * this.dimension);
    this.#places.set(moved, at);
    this.#places.delete(key);
    for (const list of [this.#keys, this.#stamps, this.#ends, this.#norms] as unknown[][]) moveLast(list, at);
    for (const column of this.#columns.values()) {
      column.bytes -= bytesOf(column.values[at]);
      moveLast(column.values, at);
    }
  }

  /** Whether the fields that a condition looks at are all here. */
  canFilter(condition: Condition | undefined): boolean {
    return condition === undefined || columnsOf(condition).every(([name]) => this.#columns.get(name)?.isFull);
  }

  /** Makes room for the fields that a condition looks at. `fillColumns` is then called for every row, and `closeColumns`. */
  openColumns(condition: Condition): void {
    const needed = columnsOf(condition);
    for (const [name, path] of needed) {
      const [values, bytes] = [this.#keys.map(() => undefined), this.size * FIELD_BYTES];
      const column = this.#columns.get(name) ?? { read: fieldReader(path), values, bytes, isFull: this.size === 0 };
      this.#columns.delete(name);
      this.#columns.set(name, column);
    }
    for (const name of this.#columns.keys()) {
      if (this.#columns.size <= Math.max(MOST_COLUMNS, needed.length)) break;
      this.#columns.delete(name);
    }
  }

  closeColumns(condition: Condition): void {
    for (const [name] of columnsOf(condition)) {
      const column = this.#columns.get(name);
      if (column !== undefined) column.isFull = true;
    }
  }

  /** The fields of a row, unless it changed meanwhile; none if they are damaged. */
  fillColumns(key: Key, stamp: string, fields: ItemFields | undefined): void {
    const at = this.#places.get(key);
    if (at === undefined || this.#stamps[at] !== stamp) return;
    for (const column of this.#columns.values()) fill(column, at, fields);
  }

  /** The nearest, best first; `canFilter` must have said yes. */
  best({ vector, limit, condition, now }: VectorQuestion): readonly VectorHit<Key>[] {
    const holds = condition === undefined ? undefined : predicate(condition, this.#reader);
    const best = new TopHits<number>(limit);
    const length = norm(vector);
    const [matrix, ends, norms, dimension] = [this.#matrix, this.#ends, this.#norms, this.dimension];
    let least = best.least;
    for (let at = 0, from = 0; at < ends.length; at++, from += dimension) {
      if ((ends[at] as number) <= now || (holds !== undefined && !holds(at))) continue;
      const score = dot(vector, matrix, from) / (length * (norms[at] as number));
      if (!(score > least)) continue;
      best.add(at, score);
      least = best.least;
    }
    return best.list().map(({ item: at, score }) => ({
      key: this.#keys[at] as Key,
      stamp: this.#stamps[at] as string,
      score: Math.max(-1, Math.min(1, score)),
    }));
  }

  readonly #reader: FieldReader<number> = (path) => {
    const values = this.#columns.get(columnOf(path))?.values;
    if (values === undefined) throw new TypeError("a field was asked for that was not read");
    return (at) => values[at];
  };

  /** Makes room for this many more rows. */
  reserve(more: number): void {
    const rows = this.size + more;
    if (rows * this.dimension > this.#matrix.length) this.#grow(rows);
  }

  #grow(rows: number = Math.max(256, Math.ceil(this.size * 1.25) + 1)): void {
    const larger = new Float32Array(rows * this.dimension);
    larger.set(this.#matrix.subarray(0, this.size * this.dimension));
    this.#matrix = larger;
  }
}

function fill(column: Column, at: number, fields: ItemFields | undefined): void {
  const value = fields && column.read(fields);
  // For a value that is not a scalar, filters only ask whether it exists.
  const kept = typeof value === "object" && value !== null ? THERE : value;
  column.bytes += bytesOf(kept) - (at < column.values.length ? bytesOf(column.values[at]) : 0);
  column.values[at] = kept;
}

const THERE: JsonValue = Object.freeze({});

const bytesOf = (value: JsonValue | undefined): number =>
  FIELD_BYTES + (typeof value === "string" ? 2 * value.length : 0);

function moveLast(list: unknown[], at: number): void {
  const last = list.pop();
  if (at < list.length) list[at] = last;
}

function columnsOf(condition: Condition): readonly (readonly [name: string, path: FieldPath])[] {
  switch (condition.op) {
    case "and":
    case "or":
      return condition.of.flatMap(columnsOf);
    case "not":
      return columnsOf(condition.of);
    default:
      return [[columnOf(condition.path), condition.path]];
  }
}

const columnOf = ({ of, names }: FieldPath): string => JSON.stringify([of, ...names]);

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
