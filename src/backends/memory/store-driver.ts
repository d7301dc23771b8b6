import { BaseDriver, type ScrubReport } from "../../driver/driver.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import type { JsonValue } from "../../state/values/codec.ts";
import { compareText, encodeId, encodeNamespace, rangeBelow } from "../../store/driver/namespaces.ts";
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
} from "../../store/driver/store-driver.ts";
import { countWords, type WordCounts, WordIndex } from "../../store/search/bm25.ts";
import { fieldReader, type ItemFields, predicate } from "../../store/search/item-fields.ts";
import { TopHits } from "../../store/search/top-hits.ts";
import { cosine, norm } from "../../store/search/vectors.ts";

interface Entry {
  readonly item: StoredItem;
  readonly fields: ItemFields;
  readonly words: WordCounts | undefined;
  readonly vector: Float32Array | undefined;
  readonly norm: number;
}

/** Where an entry lies while it is replaced by newer ones. */
interface Slot {
  readonly id: string;
  entry: Entry;
}

/** How many writes are made between two sweeps of write ids that are too old to be retried. */
const WRITES_PER_SWEEP = 1000;

const CAPABILITIES: StoreDriverCapabilities = {
  durability: "memory",
  transactions: true,
  ttl: true,
  maxItemBytes: 64 * 1024 * 1024,
  vectorSearch: "exact",
  maxExactVectors: Number.POSITIVE_INFINITY,
};

/**
 * Items in Maps. The reference driver: every duty of the contract in its simplest
 * form. Each method does all its work synchronously, which makes it atomic. Values
 * are stored as text, so callers share no objects with the store.
 */
export class MemoryStoreDriver extends BaseDriver implements StoreDriver {
  readonly name: string = "memory";
  readonly capabilities: StoreDriverCapabilities = CAPABILITIES;
  readonly #entries = new Map<string, Slot>();
  readonly #writes = new Map<string, { readonly result: ChangeResult; readonly digest: string; readonly at: number }>();
  readonly #now: () => number;
  /** All entries, in the order of their ids. */
  readonly #sorted: Slot[] = [];
  readonly #words = new WordIndex<Slot>();
  #closed = false;

  constructor(options: { readonly now?: () => number } = {}) {
    super();
    this.#now = options.now ?? Date.now;
  }

  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    this.#assertOpen();
    for (const [index, change] of changes.entries()) {
      const known = this.#writes.get(change.writeKey);
      if (known !== undefined && known.digest !== change.digest) {
        return { applied: false, index, because: "write key", version: null };
      }
      if (change.expected === undefined || known !== undefined) continue;
      const version = this.#live(encodeId(change))?.item.version ?? null;
      if (version !== change.expected) return { applied: false, index, because: "version", version };
    }
    const now = this.#now();
    const results = changes.map((change) => {
      const known = this.#writes.get(change.writeKey);
      if (known !== undefined) return { ...known.result, repeated: true };
      const result = change.kind === "put" ? this.#put(change, now) : this.#remove(change, now);
      this.#writes.set(change.writeKey, { result, digest: change.digest, at: now });
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
    const isInside = this.#within(scope);
    const best = new TopHits<StoredItem>(limit);
    for (const [slot, score] of this.#words.scores(words)) {
      if (score > best.least && isInside(slot)) best.add(slot.entry.item, score);
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

  override async scrub(): Promise<ScrubReport> {
    return { done: ["it is in memory only"], remains: [] };
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #put(change: PutChange, now: number): ChangeResult {
    const { namespace, key, version, value, metadata, vector, words, ttlMs } = change;
    const id = encodeId(change);
    const before = this.#live(id)?.item;
    if (before === undefined) this.#take(id);
    const expiresAt = ttlMs === "keep" ? before?.expiresAt : ttlMs === undefined ? undefined : now + ttlMs;
    const stamp = { version, createdAt: before?.createdAt ?? now, updatedAt: now, expiresAt };
    const entry: Entry = {
      item: { namespace: Object.freeze([...namespace]), key, value, metadata, ...stamp },
      fields: { value: parsed(change.fields.value), metadata: parsed(change.fields.metadata) },
      words: words && countWords(words),
      vector: vector?.slice(),
      norm: vector === undefined ? 0 : norm(vector),
    };
    this.#words.add(this.#place(id, entry), entry.words);
    return { ...stamp, repeated: false };
  }

  /** In place of the entry that was there before. */
  #place(id: string, entry: Entry): Slot {
    const known = this.#entries.get(id);
    if (known !== undefined) {
      this.#words.delete(known, known.entry.words);
      known.entry = entry;
      return known;
    }
    const slot = { id, entry };
    this.#entries.set(id, slot);
    this.#sorted.splice(firstFrom(this.#sorted, id), 0, slot);
    return slot;
  }

  #remove(id: ItemId, now: number): ChangeResult {
    const encoded = encodeId(id);
    const before = this.#live(encoded)?.item;
    this.#take(encoded);
    const { version = null, createdAt = now, expiresAt } = before ?? {};
    return { version, createdAt, updatedAt: now, expiresAt, repeated: false };
  }

  /** Removes an item if it exists, expired or not. */
  #take(id: string): void {
    const slot = this.#entries.get(id);
    if (slot === undefined) return;
    this.#entries.delete(id);
    this.#sorted.splice(firstFrom(this.#sorted, id), 1);
    this.#words.delete(slot, slot.entry.words);
  }

  #live(id: string): Entry | undefined {
    const entry = this.#entries.get(id)?.entry;
    return entry !== undefined && isLive(entry, this.#now()) ? entry : undefined;
  }

  /** The entries of a scope, in order, behind an id. */
  *#inside(scope: Scope, after?: string): Generator<Entry> {
    const isInside = this.#within(scope);
    const [from, before] = rangeBelow(scope.namespace);
    const slots = this.#sorted;
    const end = before === undefined ? slots.length : firstFrom(slots, before);
    for (let index = firstFrom(slots, after ?? from); index < end; index++) {
      const slot = slots[index] as Slot;
      if (slot.id !== after && isInside(slot)) yield slot.entry;
    }
  }

  /** Whether a slot is in a scope now. */
  #within({ namespace, recursive, condition }: Scope): (slot: Slot) => boolean {
    this.#assertOpen();
    const below = encodeNamespace(namespace);
    const holds = condition === undefined ? undefined : predicate(condition, fieldReader);
    const now = this.#now();
    return ({ id, entry }) =>
      id.startsWith(below) &&
      isLive(entry, now) &&
      (recursive || entry.item.namespace.length === namespace.length) &&
      (holds === undefined || holds(entry.fields));
  }

  #sweep(now: number): void {
    for (const [key, { at }] of this.#writes) {
      if (at + WRITES_REMEMBERED_MS >= now) break;
      this.#writes.delete(key);
    }
    for (const [id, { entry }] of this.#entries) if (!isLive(entry, now)) this.#take(id);
  }

  #assertOpen(): void {
    if (this.#closed) throw new StateError("CLOSED", "the store was closed");
  }
}

const isLive = ({ item }: Entry, now: number): boolean => item.expiresAt === undefined || item.expiresAt > now;

const parsed = (text: string): JsonValue => JSON.parse(text) as JsonValue;

/** The index of the first one whose id is not before `from`. */
function firstFrom(slots: readonly Slot[], from: string): number {
  let low = 0;
  let high = slots.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareText((slots[middle] as Slot).id, from) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
