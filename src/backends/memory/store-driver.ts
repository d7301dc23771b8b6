import type { ScrubReport } from "../../driver/driver.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import type { JsonValue } from "../../state/codec.ts";
import { bm25Scores, countWords, type WordCounts } from "../../store/bm25.ts";
import { type ItemFields, matches } from "../../store/matching.ts";
import { compareText, encodeId, encodeNamespace, rangeBelow } from "../../store/namespaces.ts";
import {
  type Change,
  type ChangeResult,
  type ItemId,
  type Namespace,
  type PutChange,
  type RankedItem,
  type Scope,
  type StoreDriver,
  type StoreDriverCapabilities,
  type StoredItem,
  WRITES_REMEMBERED_MS,
  type WriteOutcome,
} from "../../store/store-driver.ts";
import { TopHits } from "../../store/top-hits.ts";
import { cosine, norm } from "../../store/vectors.ts";
import { STORE_FACTS } from "./store-facts.ts";

interface Entry {
  readonly item: StoredItem;
  readonly fields: ItemFields;
  readonly words: WordCounts | undefined;
  readonly vector: Float32Array | undefined;
  readonly norm: number;
}

/** How many writes are made between two sweeps of write ids that are too old to be retried. */
const WRITES_PER_SWEEP = 1000;

/**
 * Items in Maps. The reference driver: every duty of the contract in its simplest
 * form. Each method does all its work synchronously, which makes it atomic. Values
 * are stored as text, so callers share no objects with the store.
 */
export class MemoryStoreDriver implements StoreDriver {
  readonly name: string = STORE_FACTS.name;
  readonly capabilities: StoreDriverCapabilities = STORE_FACTS.capabilities;
  readonly #entries = new Map<string, Entry>();
  readonly #writes = new Map<string, { readonly result: ChangeResult; readonly at: number }>();
  readonly #now: () => number;
  /** The ids of all entries, in order. */
  readonly #sorted: string[] = [];
  /** The highest version that was removed: a new item starts above it. */
  #floor = 0;
  #closed = false;

  constructor(options: { readonly now?: () => number } = {}) {
    this.#now = options.now ?? Date.now;
  }

  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    this.#assertOpen();
    for (const [index, change] of changes.entries()) {
      if (change.expected === undefined || this.#writes.has(change.writeKey)) continue;
      const version = this.#live(encodeId(change))?.item.version ?? 0;
      if (version !== change.expected) return { applied: false, index, version };
    }
    const now = this.#now();
    const results = changes.map((change) => {
      const known = this.#writes.get(change.writeKey);
      if (known !== undefined) return { ...known.result, repeated: true };
      const result = change.kind === "put" ? this.#put(change, now) : this.#remove(change, now);
      this.#writes.set(change.writeKey, { result, at: now });
      return result;
    });
    if (this.#writes.size % WRITES_PER_SWEEP === 0) this.#sweep(now);
    return { applied: true, results };
  }

  async read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    this.#assertOpen();
    return ids.map((id) => this.#live(encodeId(id))?.item);
  }

  async scan(scope: Scope, options: { after?: ItemId; limit: number }): Promise<readonly StoredItem[]> {
    const after = options.after === undefined ? undefined : encodeId(options.after);
    const found: StoredItem[] = [];
    for (const { item } of this.#inside(scope, after)) {
      if (found.push(item) === options.limit) break;
    }
    return found;
  }

  async namespaces(prefix: Namespace, options: { after?: Namespace; limit: number }): Promise<readonly Namespace[]> {
    const after = options.after === undefined ? undefined : encodeNamespace(options.after);
    const found: Namespace[] = [];
    let last = after;
    for (const { item } of this.#inside({ namespace: prefix, recursive: true, condition: undefined })) {
      const encoded = encodeNamespace(item.namespace);
      if (encoded === last || (after !== undefined && compareText(encoded, after) <= 0)) continue;
      last = encoded;
      if (found.push(item.namespace) === options.limit) break;
    }
    return found;
  }

  async clear(scope: Omit<Scope, "condition">, options: { before: number; limit: number }): Promise<number> {
    const old: string[] = [];
    for (const { item } of this.#inside({ ...scope, condition: undefined })) {
      if (item.updatedAt <= options.before && old.push(encodeId(item)) === options.limit) break;
    }
    for (const id of old) this.#take(id);
    return old.length;
  }

  async searchText(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]> {
    const entries = [...this.#inside(scope)].filter((entry) => entry.words !== undefined);
    const scores = bm25Scores(
      entries.flatMap((entry) => entry.words ?? []),
      words,
    );
    const best = new TopHits<StoredItem>(limit);
    for (const [index, { item }] of entries.entries()) {
      const score = scores[index] ?? 0;
      if (score > 0) best.add(item, score);
    }
    return best.list();
  }

  async searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    const best = new TopHits<StoredItem>(limit);
    const length = norm(vector);
    for (const entry of this.#inside(scope)) {
      if (entry.vector?.length === vector.length)
        best.add(entry.item, cosine(vector, entry.vector, length * entry.norm));
    }
    return best.list();
  }

  async readVector(id: ItemId): Promise<Float32Array | undefined> {
    this.#assertOpen();
    return this.#live(encodeId(id))?.vector?.slice();
  }

  async dimension(below: Namespace): Promise<number | undefined> {
    for (const { vector } of this.#inside({ namespace: below, recursive: true, condition: undefined })) {
      if (vector !== undefined) return vector.length;
    }
    return undefined;
  }

  async now(): Promise<number> {
    this.#assertOpen();
    return this.#now();
  }

  classify(): ErrorCode | undefined {
    return undefined;
  }

  async scrub(): Promise<ScrubReport> {
    return { done: ["it is in memory only"], remains: [] };
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #put(change: PutChange, now: number): ChangeResult {
    const { namespace, key, value, metadata, vector, words, ttlMs } = change;
    const id = encodeId(change);
    const before = this.#live(id)?.item;
    if (before === undefined) {
      this.#take(id);
      this.#sorted.splice(firstFrom(this.#sorted, id), 0, id);
    }
    const expiresAt = ttlMs === "keep" ? before?.expiresAt : ttlMs === undefined ? undefined : now + ttlMs;
    const version = (before?.version ?? this.#floor) + 1;
    const stamp = { version, createdAt: before?.createdAt ?? now, updatedAt: now, expiresAt };
    this.#entries.set(id, {
      item: { namespace: Object.freeze([...namespace]), key, value, metadata, ...stamp },
      fields: { value: parsed(change.fields.value), metadata: parsed(change.fields.metadata) },
      words: words && countWords(words),
      vector: vector?.slice(),
      norm: vector === undefined ? 0 : norm(vector),
    });
    return { ...stamp, repeated: false };
  }

  #remove(id: ItemId, now: number): ChangeResult {
    const encoded = encodeId(id);
    const before = this.#live(encoded)?.item;
    this.#take(encoded);
    const { version = 0, createdAt = now, expiresAt } = before ?? {};
    return { version, createdAt, updatedAt: now, expiresAt, repeated: false };
  }

  /** Removes an item if it exists, expired or not. */
  #take(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#sorted.splice(firstFrom(this.#sorted, id), 1);
    this.#floor = Math.max(this.#floor, entry.item.version);
  }

  #live(id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry !== undefined && (entry.item.expiresAt ?? Number.POSITIVE_INFINITY) > this.#now() ? entry : undefined;
  }

  /** The entries of a scope, in order, after an id. */
  *#inside({ namespace, recursive, condition }: Scope, after?: string): Generator<Entry> {
    this.#assertOpen();
    const ids = this.#sorted;
    const [from, before] = rangeBelow(namespace);
    const start = after === undefined ? from : after;
    for (let index = firstFrom(ids, start); index < ids.length; index++) {
      const id = ids[index] ?? "";
      if (before !== undefined && compareText(id, before) >= 0) return;
      if (id === after) continue;
      const entry = this.#live(id);
      if (entry === undefined || (!recursive && entry.item.namespace.length !== namespace.length)) continue;
      if (matches(condition, entry.fields)) yield entry;
    }
  }

  #sweep(now: number): void {
    for (const [key, { at }] of this.#writes) {
      if (at + WRITES_REMEMBERED_MS >= now) break;
      this.#writes.delete(key);
    }
    for (const [id, { item }] of this.#entries) {
      if ((item.expiresAt ?? Number.POSITIVE_INFINITY) <= now) this.#take(id);
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new StateError("CLOSED", "the store was closed");
  }
}

const parsed = (text: string): JsonValue => JSON.parse(text) as JsonValue;

/** The index of the first id that is not before `from`. */
function firstFrom(ids: readonly string[], from: string): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareText(ids[middle] ?? "", from) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
