import type { Access } from "../../driver/access.ts";
import { BaseDriver, type ScrubReport } from "../../driver/driver.ts";
import type { BucketSource } from "../../driver/object-bucket.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { inParallel } from "../../internal/concurrency.ts";
import type { JsonValue } from "../../state/values/codec.ts";
import { compareIds, compareNamespaces, encodeNamespace } from "../driver/namespaces.ts";
import type {
  Change,
  FullStoreDriver,
  ItemId,
  Namespace,
  RankedItem,
  Scope,
  StoreDriverCapabilities,
  StoredItem,
  WriteOutcome,
} from "../driver/store-driver.ts";
import { bm25Scores, countWords, type WordCounts } from "../search/bm25.ts";
import { matches } from "../search/item-fields.ts";
import { TopHits } from "../search/top-hits.ts";
import { cosine, norm } from "../search/vectors.ts";
import { folderNames, itemNames } from "./item-names.ts";
import { emptyObject, type KeptItem } from "./item-object.ts";
import { type FoundItem, ItemTable, neverStill, recent } from "./item-table.ts";
import { ItemWriter, liveItem } from "./item-writer.ts";
import { Layout } from "./layout.ts";

/** The storage's clock, in milliseconds since 1970. */
export interface StorageClock {
  /** `request` makes one to the storage, for a clock that is read from answers. */
  now(request: () => Promise<unknown>): Promise<number>;
}

export interface KeyValueStoreOptions {
  /** What the names of all objects begin with: empty, or folders, each followed by a slash. */
  readonly prefix: string;
  readonly access?: Access;
  readonly clock: StorageClock;
  readonly maxItemBytes?: number;
  /** How many items one search, and one page of a filtered list, looks at. @default 10_000 */
  readonly mostSearched?: number;
}

/** A search reads every object of its scope: with more, it would take minutes, and on a service that bills requests it would cost. */
export const MOST_SEARCHED = 10_000;

const MAX_ITEM_BYTES = 16 * 1024 * 1024;
/** Requests of one call that are under way at the same time. */
const AT_ONCE = 32;
/** Each time, a batch was committed while its items were read. */
const MOST_ROUNDS = 20;

/** Items in any storage that has objects and conditional writes. How: see `layout.ts`. */
export class KeyValueStoreDriver extends BaseDriver implements FullStoreDriver {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly capabilities: StoreDriverCapabilities;
  readonly #source: BucketSource;
  readonly #options: KeyValueStoreOptions;
  readonly #mostSearched: number;
  readonly #open: OpenOnce<Opened>;
  #isClosed = false;
  /** Removed items whose names stay, because the bucket cannot delete on condition. */
  #namesLeft = 0;

  constructor(source: BucketSource, options: KeyValueStoreOptions) {
    super();
    const { maxItemBytes = MAX_ITEM_BYTES, mostSearched = MOST_SEARCHED, access = "write" } = options;
    this.name = source.name;
    this.secrets = source.secrets ?? [];
    this.#source = source;
    this.#options = options;
    this.#mostSearched = mostSearched;
    this.#open = new OpenOnce(() => this.#openTable(access));
    this.capabilities = {
      durability: source.durability,
      transactions: true,
      ttl: true,
      maxItemBytes,
      vectorSearch: "exact",
      maxExactVectors: mostSearched,
      ...(access === "read" && { connects: true }),
    };
  }

  /** A reader reports where there is no store. */
  override async connect(): Promise<void> {
    if (!this.capabilities.connects) return;
    const { table } = await this.#opened();
    await table.bucket.get(table.layout.vectors);
  }

  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    const { writer } = await this.#opened();
    return writer.write(changes);
  }

  async read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    const { table } = await this.#opened();
    const names = ids.map((id) => table.layout.item(id));
    const found = await this.#readTogether(table, names);
    const now = await this.now();
    return found.map((one) => shown(one, now)?.stored);
  }

  async scan(
    scope: Scope,
    options: { readonly after?: ItemId; readonly limit: number },
  ): Promise<readonly StoredItem[]> {
    const items: StoredItem[] = [];
    let seen = 0;
    const atOnce = scope.condition === undefined ? options.limit : Number.POSITIVE_INFINITY;
    for await (const some of this.#inside(scope, { ...options, atOnce })) {
      for (const item of some) {
        if (isKept(scope, item) && items.push(item.stored) === options.limit) return items;
      }
      seen += some.length;
      if (seen > this.#mostSearched && scope.condition !== undefined) throw this.#tooMany("a page of a filtered list");
    }
    return items;
  }

  async namespaces(
    prefix: Namespace,
    { after, limit }: { readonly after?: Namespace; readonly limit: number },
  ): Promise<readonly Namespace[]> {
    const { table } = await this.#opened();
    const scope: Scope = { namespace: prefix, recursive: true, condition: undefined };
    const found: Namespace[] = [];
    for await (const firsts of folderNames(table, prefix, after)) {
      const named = await inParallel(firsts, (first) => this.#namespaceAt(table, first), AT_ONCE);
      const some = named.filter((one) => one !== undefined).filter((one) => isBelow(one, scope));
      for (const namespace of some.sort(compareNamespaces)) {
        if (after !== undefined && compareNamespaces(namespace, after) <= 0) continue;
        if (found.push(namespace) === limit) return found;
      }
    }
    return found;
  }

  async clear(
    scope: Omit<Scope, "condition">,
    { before, limit }: { readonly before: number; readonly limit: number },
  ): Promise<number> {
    const { table } = await this.#opened();
    let count = 0;
    for await (const names of itemNames(table, scope, { atOnce: AT_ONCE })) {
      for (let at = 0; at < names.length && count < limit; ) {
        const some = names.slice(at, at + limit - count);
        const cleared = await inParallel(some, (name) => this.#clearOne(table, name, scope, before), AT_ONCE);
        count += cleared.filter((isCleared) => isCleared).length;
        at += some.length;
      }
      if (count >= limit) break;
    }
    return count;
  }

  async searchText(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]> {
    const items: StoredItem[] = [];
    const counts: WordCounts[] = [];
    for await (const item of this.#searched(scope)) {
      if (item.words === undefined) continue;
      items.push(item.stored);
      counts.push(countWords(item.words));
    }
    const best = new TopHits<StoredItem>(limit);
    for (const [at, score] of bm25Scores(counts, words).entries()) {
      const item = items[at];
      if (score > 0 && item !== undefined) best.add(item, score);
    }
    return best.list();
  }

  async searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    const [best, length] = [new TopHits<StoredItem>(limit), norm(vector)];
    for await (const { stored, vector: own } of this.#searched(scope)) {
      if (own?.length === vector.length) best.add(stored, cosine(vector, own, length * norm(own)));
    }
    return best.list();
  }

  async readVector(id: ItemId): Promise<Float32Array | undefined> {
    const { table } = await this.#opened();
    const found = await table.read(table.layout.item(id));
    if (found.trouble !== undefined) throw found.trouble;
    return liveItem(found, await this.now())?.vector;
  }

  async dimension(below: Namespace): Promise<number | undefined> {
    const { table } = await this.#opened();
    if ((await table.bucket.get(table.layout.vectors)) === undefined) return undefined;
    const scope: Scope = { namespace: below, recursive: true, condition: undefined };
    for await (const items of this.#inside(scope, { atOnce: Number.POSITIVE_INFINITY })) {
      for (const { vector } of items) if (vector !== undefined) return vector.length;
    }
    return undefined;
  }

  /** Every object is looked at: what ended and what was removed goes, also its name, and what was interrupted is finished. */
  async verify(): Promise<void> {
    const { table } = await this.#opened();
    const { bucket, layout } = table;
    for await (const names of bucket.list({ prefix: layout.batches })) {
      await inParallel(names, (name) => finishBatch(table, name.slice(layout.batches.length)), AT_ONCE);
    }
    this.#namesLeft = 0;
    for await (const names of bucket.list({ prefix: layout.items })) {
      const stray = names.find((name) => !layout.isItem(name));
      if (stray !== undefined) {
        throw new StateError(
          "CORRUPT",
          `the object ${stray} is none of this store, and no list shows it. Look at it, and delete it`,
          { location: stray },
        );
      }
      await inParallel(names, (name) => this.#verifyOne(table, name), AT_ONCE);
    }
    for await (const names of bucket.list({ prefix: layout.removed })) {
      const now = await this.now();
      await inParallel(names, (name) => table.forgetWrites(name, now), AT_ONCE);
    }
  }

  async now(): Promise<number> {
    const { table } = await this.#opened();
    return this.#options.clock.now(() => table.bucket.get(table.layout.vectors));
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.#source.classify(error);
  }

  override async scrub(): Promise<ScrubReport> {
    const { table } = await this.#opened();
    const { done, remains } = await table.bucket.deleteOlderVersions(this.#options.prefix);
    if (this.#namesLeft === 0) return { done, remains };
    const names = `the names of ${this.#namesLeft} removed items: this storage cannot delete an object on condition`;
    return { done, remains: [...remains, names] };
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await (await this.#open.opened())?.table.bucket.close();
  }

  async #openTable(access: Access): Promise<Opened> {
    const bucket = await this.#source.open();
    const table = new ItemTable(bucket, new Layout(this.#options.prefix), access);
    return { table, writer: new ItemWriter(table, () => this.now()) };
  }

  async #opened(): Promise<Opened> {
    if (this.#isClosed) throw new StateError("CLOSED", "the store was closed");
    return this.#open.get();
  }

  /**
   * A batch that is committed meanwhile is seen in all of the items or in none: those that were read before it
   * was met are read again.
   */
  async #readTogether(table: ItemTable, names: readonly string[]): Promise<readonly FoundItem[]> {
    const found = await inParallel(names, (name) => table.read(name), AT_ONCE);
    const met = new Set<string>();
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const batches = new Set(found.flatMap(({ object }) => object.item?.batch ?? []));
      const newlyMet = [...batches].filter((batch) => !met.has(batch));
      const again = found.flatMap(({ object }, at) =>
        newlyMet.some((batch) => batch !== object.item?.batch) ? [at] : [],
      );
      if (again.length === 0) return found;
      for (const batch of newlyMet) met.add(batch);
      await inParallel(
        again,
        async (at) => {
          found[at] = await table.read(names[at] ?? "");
        },
        AT_ONCE,
      );
    }
    throw neverStill("of some item");
  }

  /** The items of a scope, some at a time, in the order of their ids; a damaged one as an item that cannot be read. */
  async *#inside(
    scope: Scope,
    { after, atOnce }: { readonly after?: ItemId; readonly atOnce: number },
  ): AsyncGenerator<readonly KeptItem[], void, undefined> {
    const { table } = await this.#opened();
    for await (const names of itemNames(table, scope, { after, atOnce })) {
      const found = await inParallel(names, (name) => table.read(name), AT_ONCE);
      const now = await this.now();
      const items = found
        .flatMap((one) => shown(one, now) ?? [])
        .filter((one) => isUnreadable(one) || isBelow(one.stored.namespace, scope));
      items.sort((a, b) => compareIds(a.stored, b.stored));
      yield after === undefined ? items : items.filter(({ stored }) => compareIds(stored, after) > 0);
      if (table.mayWrite) await inParallel(found, (one) => sweep(table, one, now), AT_ONCE);
    }
  }

  async *#searched(scope: Scope): AsyncGenerator<KeptItem, void, undefined> {
    let seen = 0;
    for await (const items of this.#inside(scope, { atOnce: Number.POSITIVE_INFINITY })) {
      seen += items.length;
      if (seen > this.#mostSearched) throw this.#tooMany("a search");
      for (const item of items) if (isKept(scope, item)) yield item;
    }
  }

  /** The namespace of a folder that holds an item which is there. */
  async #namespaceAt(table: ItemTable, first: string): Promise<Namespace | undefined> {
    const now = await this.now();
    const one = shown(await table.read(first), now);
    if (one !== undefined) return one.stored.namespace;
    const { layout, bucket } = table;
    for await (const names of bucket.list({ prefix: layout.folderOf(first), startAfter: first })) {
      for (const name of names.filter((each) => layout.isItem(each))) {
        const item = shown(await table.read(name), now);
        if (item !== undefined) return item.stored.namespace;
      }
    }
    return undefined;
  }

  async #clearOne(table: ItemTable, name: string, scope: Omit<Scope, "condition">, before: number): Promise<boolean> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const found = await table.readToWrite(name);
      const now = await this.now();
      const item = shown(found, now);
      if (item === undefined || !isBelow(item.stored.namespace, { ...scope, condition: undefined })) return false;
      if (item.stored.updatedAt > before) return false;
      if (await this.#removeWhole(table, found, now)) return true;
    }
    throw neverStill(name);
  }

  /** Takes the item out of its object, and the object away where nothing has to be remembered. */
  async #removeWhole(table: ItemTable, found: FoundItem, now: number): Promise<boolean> {
    const writes = recent(found.object.writes, now);
    if (writes.length === 0 && (await table.discard(found))) return true;
    return (await table.put(found, { ...emptyObject(found.object.id), writes })) !== undefined;
  }

  /** Takes out what ended, and what is left of removed items: their names may be about people. */
  async #verifyOne(table: ItemTable, name: string): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const found = await table.readToWrite(name);
      const now = await this.now();
      if (found.version === undefined || found.trouble !== undefined || liveItem(found, now) !== undefined) return;
      const writes = recent(found.object.writes, now);
      if (writes.length > 0) await table.keepWrites(found.object.id, writes);
      if (await table.discard(found)) return;
      if ((await table.find(name)).version !== found.version) continue;
      if (found.object.item === undefined || (await table.put(found, { ...emptyObject(found.object.id), writes }))) {
        this.#namesLeft++;
        return;
      }
    }
    throw neverStill(name);
  }

  #tooMany(what: string): StateError {
    const most = this.#mostSearched;
    return new StateError(
      "TOO_LARGE",
      `${what} looks at no more than ${most} items on this storage, and there are more. Look into a smaller namespace, or keep the items in a database`,
    );
  }
}

interface Opened {
  readonly table: ItemTable;
  readonly writer: ItemWriter;
}

/** A damaged one is an item whose value cannot be read: a reader of several names it and continues. */
function shown(found: FoundItem, now: number): KeptItem | undefined {
  const { trouble, object, version } = found;
  if (trouble === undefined) return liveItem(found, now);
  const times = { createdAt: 0, updatedAt: 0, expiresAt: undefined };
  const stored = { ...object.id, value: "", metadata: undefined, version: version ?? "", ...times };
  return { stored, fields: { value: "", metadata: "" }, words: undefined, vector: undefined, batch: undefined };
}

const isUnreadable = ({ stored }: Pick<KeptItem, "stored">): boolean => stored.value === "";

const isBelow = (namespace: Namespace, scope: Scope): boolean =>
  encodeNamespace(namespace).startsWith(encodeNamespace(scope.namespace)) &&
  (scope.recursive || namespace.length === scope.namespace.length);

/** Whether a filter keeps an item. Of a damaged one that cannot be told: it is handed on, so that it is named. */
function isKept({ condition }: Scope, { stored, fields }: KeptItem): boolean {
  if (condition === undefined || isUnreadable({ stored })) return true;
  return matches(condition, {
    value: JSON.parse(fields.value) as JsonValue,
    metadata: JSON.parse(fields.metadata) as JsonValue,
  });
}

/** Deletes what is left of an item whose writes need not be remembered any longer. Another process may be faster. */
async function sweep(table: ItemTable, found: FoundItem, now: number): Promise<void> {
  if (found.version === undefined || found.trouble !== undefined) return;
  if (liveItem(found, now) !== undefined || recent(found.object.writes, now).length > 0) return;
  // A reader is shown an object without the write that is pending in it, which may count by now.
  const stored = await table.find(found.name);
  if (stored.version === found.version && stored.object.pending === undefined) await table.discard(stored);
}

async function finishBatch(table: ItemTable, attempt: string): Promise<void> {
  const batch = await table.findBatch(attempt);
  // To meet its items is to settle them.
  await inParallel(batch?.names ?? [], (name) => table.readToWrite(name), AT_ONCE);
  await table.deleteBatch(attempt);
}
