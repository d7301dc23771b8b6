/** Long because it is the whole surface of what users hold: a short method for each feature, most of which live in files of their own. */

import { newId } from "../driver/ids.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { invalid } from "../driver/options.ts";
import { type Page, page } from "../driver/page.ts";
import type { StateError } from "../errors.ts";
import { BaseStore } from "./base-store.ts";
import { capabilitiesOfDriver, type StoreCapabilities, type StoreFlag } from "./driver/capabilities.ts";
import { assertKey, assertNamespace, readableId } from "./driver/namespaces.ts";
import {
  assertStoreDriver,
  type ChangeResult,
  type ItemId,
  MOST_CHANGES,
  type Namespace,
  type Scope,
  type StoreDriver,
} from "./driver/store-driver.ts";
import type { SeenHolds } from "./holds.ts";
import { openItemPosition, sealPosition } from "./items/cursors.ts";
import { assertPaths } from "./items/index-paths.ts";
import { decodeHit, decodeItem, decodeSome, encodeItem } from "./items/item-codec.ts";
import type {
  ClearOptions,
  EmbeddingSearchOptions,
  ItemRef,
  ListNamespacesOptions,
  ListOptions,
  PutEntry,
  PutOptions,
  PutResult,
  PutWithEmbeddingOptions,
  StoreHit,
  StoreItem,
  StoreSearchOptions,
  UpdateFunction,
  UpdateOptions,
  Vector,
  WriteOptions,
} from "./items/items.ts";
import { SealedBelow } from "./items/sealed-below.ts";
import { openAccess, type StoreAccess, type StoreOptions } from "./items/store-access.ts";
import {
  assertExpectedVersion,
  assertListOfObjects,
  checkedLimit,
  checkedShare,
  checkedThreshold,
  checkedTimeout,
  clearOptionsOf,
  embeddingSearchOptionsOf,
  listOptionsOf,
  namespacesOptionsOf,
  putOptionsOf,
  putWithEmbeddingOptionsOf,
  searchOptionsOf,
  updateOptionsOf,
  writeOptionsOf,
} from "./items/store-options.ts";
import { assertEmbedder, type Embedder } from "./search/embedder.ts";
import { parseFilter, type StoreFilter } from "./search/filter.ts";
import type { SearchContext } from "./searching.ts";
import { Dimension } from "./writing/dimension.ts";
import { UpdateTurns, updateItem } from "./writing/updating.ts";
import { VectorSource } from "./writing/vector-source.ts";
import { noteWritingContext, putResult, type WritingContext, writeItems } from "./writing/writing.ts";

const PER_CLEARING = 500;

/** The operations beside reading, writing and listing items. Loaded with the first of them. */
const further = new OpenOnce(() => import("./further-operations.ts"));

/** A store on any storage that can be a `StoreDriver`. This is what every factory returns. Every feature is made here once. */
export class Store extends BaseStore {
  readonly #access: StoreAccess;
  readonly #dimension: Dimension;
  readonly #context: WritingContext & SearchContext;
  readonly #updates = new UpdateTurns();

  constructor(driver: StoreDriver, options: StoreOptions = {}) {
    super();
    assertStoreDriver(driver);
    const { embedder, embedTimeoutMs, index, textWeight } = options;
    if (embedder !== undefined) assertEmbedder(embedder);
    if (index !== undefined) assertPaths(index);
    this.#access = openAccess(this, driver, options);
    this.#dimension = new Dimension(this.#access, options.dimension);
    this.#context = {
      access: this.#access,
      dimension: this.#dimension,
      embedder: embedder as Embedder | undefined,
      embedTimeoutMs: checkedTimeout("embedTimeoutMs", embedTimeoutMs) ?? 60_000,
      index,
      redactor: options.redact,
      sealedBelow: new SealedBelow(this.#access),
      source: new VectorSource(this.#access, this.#dimension, embedder as Embedder | undefined),
      textWeight: checkedShare("textWeight", textWeight) ?? 0.5,
    };
    noteWritingContext(this, this.#context);
  }

  /** What this storage can do as it is configured. For a remote one this is certain after `connect()` or the first use. */
  get capabilities(): StoreCapabilities {
    return capabilitiesOfDriver(this.#access.driver, this.#access.access, this.#dimension.known);
  }

  override async connect(): Promise<StoreCapabilities> {
    this.#access.assertOpen("connect");
    await this.#access.connect({ operation: "connect" });
    return this.capabilities;
  }

  async put(namespace: Namespace, key: string, value: unknown, given?: PutOptions): Promise<PutResult> {
    this.#access.assertMayWrite("put");
    return this.#put("put", { ...putOptionsOf("put", given), namespace, key, value });
  }

  override async putWithEmbedding(
    namespace: Namespace,
    key: string,
    value: unknown,
    given: Vector | PutWithEmbeddingOptions,
  ): Promise<PutResult> {
    this.#access.assertMayWrite("putWithEmbedding");
    const options = putWithEmbeddingOptionsOf(given);
    await this.#assertCan("semanticSearch");
    return this.#put("putWithEmbedding", { ...options, namespace, key, value });
  }

  override async putBatch(entries: readonly PutEntry[]): Promise<readonly PutResult[]> {
    this.#access.assertMayWrite("putBatch");
    assertListOfObjects("putBatch", "{ namespace, key, value }", entries);
    for (const { namespace, key, value, embedding, ...options } of entries) {
      putOptionsOf("putBatch", options);
      if (embedding !== undefined) await this.#assertCan("semanticSearch");
    }
    if (entries.some(({ ttlSeconds }) => ttlSeconds !== undefined)) await this.#assertCan("ttl");
    return (await writeItems(this.#context, "putBatch", entries)).map(putResult);
  }

  async getItem<Value = unknown>(namespace: Namespace, key: string): Promise<StoreItem<Value> | undefined> {
    return this.#getItem("get", namespace, key);
  }

  override async getItems<Value = unknown>(
    refs: readonly ItemRef[],
  ): Promise<readonly (StoreItem<Value> | undefined)[]> {
    this.#access.assertOpen("getBatch");
    assertListOfObjects("getBatch", "{ namespace, key }", refs);
    const ids = refs.map(({ namespace, key }) => this.#id(namespace, key));
    const items: (StoreItem<Value> | undefined)[] = [];
    for (let at = 0; at < ids.length; at += MOST_CHANGES) {
      const some = ids.slice(at, at + MOST_CHANGES);
      const found = await this.#access.call({ operation: "getBatch" }, (driver) => driver.read(some));
      for (const item of found) items.push(item && decodeItem<Value>(item));
    }
    return items;
  }

  async delete(namespace: Namespace, key: string, given?: WriteOptions): Promise<boolean> {
    this.#access.assertMayWrite("delete");
    const id = this.#id(namespace, key);
    const { version } = await this.#remove("delete", id, writeOptionsOf("delete", given));
    return version !== null;
  }

  async list<Value = unknown>(namespace: Namespace, given?: ListOptions): Promise<Page<StoreItem<Value>>> {
    this.#access.assertOpen("list");
    const options = listOptionsOf(given);
    return this.#scan<Value>("list", namespace, options, options.recursive ?? false, 100);
  }

  override async listNamespaces(given?: ListNamespacesOptions): Promise<Page<Namespace>> {
    this.#access.assertOpen("listNamespaces");
    const options = namespacesOptionsOf(given);
    const { namespacesPage } = await further.get();
    return namespacesPage(this.#access, options);
  }

  /** Items that are put while it runs are kept, so that it ends however busy others are. */
  override async clearNamespace(namespace: Namespace, given?: ClearOptions): Promise<number> {
    this.#access.assertMayWrite("clearNamespace");
    const { recursive = false } = clearOptionsOf(given);
    assertNamespace(namespace, { mayBeEmpty: recursive });
    const { assertNamespaceNotHeld } = await further.get();
    const place = { operation: "clearNamespace" };
    const before = await this.#access.call(place, (driver) => driver.now());
    let seen: SeenHolds | undefined;
    for (let count = 0; ; ) {
      seen = await assertNamespaceNotHeld(this, namespace, recursive, seen);
      const limit = PER_CLEARING;
      const some = await this.#access.call(place, (driver) =>
        driver.clear({ namespace, recursive }, { before, limit }),
      );
      count += some;
      if (some < limit) return count;
    }
  }

  override async update<Value = unknown>(
    namespace: Namespace,
    key: string,
    change: UpdateFunction<Value>,
    given?: UpdateOptions,
  ): Promise<StoreItem<Value> | undefined> {
    this.#access.assertMayWrite("update");
    const id = this.#id(namespace, key);
    const options = updateOptionsOf(given);
    if (typeof change !== "function") throw new TypeError("update() takes the namespace, the key, then the function");
    if (options.ttlSeconds !== undefined) await this.#assertCan("ttl");
    const steps = {
      read: () => this.#getItem<Value>("update", namespace, key),
      write: (value: Value | undefined, read: StoreItem<Value> | undefined, writeId: string) =>
        this.#replace(id, value, read, { ...options, writeId, expectedVersion: read?.version ?? null }),
    };
    const race = (): Promise<StoreItem<Value> | undefined> => updateItem(id, steps, change, options);
    return this.#access.guard({ operation: "update" }, () => this.#updates.take(id, race));
  }

  /** Writes the result of an update. If an earlier attempt had done that, the current item is the answer. */
  async #replace<Value>(
    id: ItemId,
    value: Value | undefined,
    read: StoreItem<Value> | undefined,
    options: UpdateOptions & WriteOptions,
  ): Promise<StoreItem<Value> | undefined> {
    const metadata = options.metadata ?? read?.metadata;
    const given = { ...options, ...(metadata !== undefined && { metadata }) };
    const { expectedVersion = null, writeId = newId() } = options;
    const result =
      value === undefined
        ? await this.#remove("update", id, { expectedVersion, writeId })
        : await this.#write("update", { ...id, ...given, value }, "keep");
    if (result.repeated) return this.#getItem<Value>("update", id.namespace, id.key);
    if (value === undefined || result.version === null) return undefined;
    const { version } = result;
    return decodeItem<Value>({ ...id, ...encodeItem(value, metadata), ...result, version });
  }

  override async search<Value = unknown>(
    namespace: Namespace,
    given?: string | StoreSearchOptions,
  ): Promise<Page<StoreHit<Value>>> {
    this.#access.assertOpen("search");
    const options = searchOptionsOf(given);
    const { query, recursive = true } = options;
    if (query === undefined) return this.#scan<Value>("search", namespace, options, recursive, 10);
    if (typeof query !== "string") throw invalid("query is the text to look for; for a vector use searchByEmbedding()");
    const scope = this.#scope(namespace, recursive, options.filter);
    const limit = checkedLimit(options.limit, 10);
    const { rankedPage } = await further.get();
    return rankedPage<Value>(this.#context, scope, query, options, limit);
  }

  override async searchByEmbedding<Value = unknown>(
    namespace: Namespace,
    given: EmbeddingSearchOptions,
  ): Promise<Page<StoreHit<Value>>> {
    this.#access.assertOpen("searchByEmbedding");
    const { query, limit: wanted, threshold, filter, recursive = true } = embeddingSearchOptionsOf(given);
    const scope = this.#scope(namespace, recursive, filter);
    const [limit, least] = [checkedLimit(wanted, 10), checkedThreshold(threshold)];
    await this.#assertCan("semanticSearch");
    const vector = await this.#dimension.checked(query, "query");
    if (limit === 0) return page<StoreHit<Value>>([], undefined);
    const { byVector } = await further.get();
    const hits = await byVector(this.#access, "searchByEmbedding", scope, vector, limit);
    const near = hits.filter(({ score }) => score >= least);
    const { items, warnings } = await decodeSome(near, decodeHit<Value>);
    return page(items, undefined, warnings);
  }

  override async getEmbedding(namespace: Namespace, key: string): Promise<readonly number[] | undefined> {
    this.#access.assertOpen("getEmbedding");
    const id = this.#id(namespace, key);
    await this.#assertCan("semanticSearch");
    const place = { operation: "getEmbedding", item: readableId(id) };
    const vector = await this.#access.call(place, async (driver) => driver.readVector?.(id));
    return vector && Array.from(vector);
  }

  override async close(): Promise<void> {
    await this.#access.close();
  }

  async #put(operation: string, entry: PutEntry): Promise<PutResult> {
    if (entry.ttlSeconds !== undefined) await this.#assertCan("ttl");
    return putResult(await this.#write(operation, entry));
  }

  async #write(operation: string, entry: PutEntry, otherwise?: "keep"): Promise<ChangeResult> {
    const [result] = await writeItems(this.#context, operation, [entry], otherwise);
    if (result === undefined) throw new TypeError("a driver's write() answers with a result for each change");
    return result;
  }

  async #remove(operation: string, id: ItemId, options: WriteOptions): Promise<ChangeResult> {
    const { expectedVersion: expected } = options;
    assertExpectedVersion(expected);
    const { removeItem } = await further.get();
    return removeItem(this, this.#access, operation, id, options);
  }

  async #getItem<Value>(operation: string, namespace: Namespace, key: string): Promise<StoreItem<Value> | undefined> {
    this.#access.assertOpen(operation);
    const id = this.#id(namespace, key);
    const place = { operation, item: readableId(id) };
    const [item] = await this.#access.call(place, (driver) => driver.read([id]));
    return this.#access.guard(place, () => item && decodeItem<Value>(item));
  }

  async #scan<Value>(
    operation: string,
    namespace: Namespace,
    options: ListOptions,
    recursive: boolean,
    otherwise: number,
  ): Promise<Page<StoreItem<Value>>> {
    const scope = this.#scope(namespace, recursive, options.filter);
    const limit = checkedLimit(options.limit, otherwise);
    const walk = ["items", scope];
    const after = openItemPosition(walk, options.cursor);
    if (limit === 0) return page<StoreItem<Value>>([], options.cursor);
    const found = await this.#access.call({ operation }, (driver) =>
      driver.scan(scope, { limit: limit + 1, ...(after !== undefined && { after }) }),
    );
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    const { items, warnings } = await decodeSome(shown, decodeItem<Value>, () => this.#unseen(scope));
    return page(items, hasMore ? sealPosition(walk, [last.namespace, last.key]) : undefined, warnings);
  }

  /** Sealed items match no condition and have no words. */
  async #unseen({ namespace, condition }: Scope): Promise<StateError | undefined> {
    return condition === undefined ? undefined : this.#context.sealedBelow.warning(namespace);
  }

  #scope(namespace: Namespace, recursive: boolean, filter: StoreFilter | undefined): Scope {
    assertNamespace(namespace, { mayBeEmpty: true });
    return { namespace: [...namespace], recursive, condition: parseFilter(filter) };
  }

  #id(namespace: Namespace, key: string): ItemId {
    assertNamespace(namespace);
    assertKey(key);
    return { namespace: [...namespace], key };
  }

  async #assertCan(flag: StoreFlag): Promise<void> {
    if (this.capabilities[flag]) return;
    await this.#access.connect({ operation: "connect" });
    if (this.capabilities[flag]) return;
    const { lacking } = await further.get();
    throw lacking(this.#access.driver.name, flag);
  }
}
