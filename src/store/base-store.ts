import type { Page } from "../driver/page.ts";
import { StateError } from "../errors.ts";
import type { StoreCapabilities, StoreFlag } from "./driver/capabilities.ts";
import { assertNamespace } from "./driver/namespaces.ts";
import type { Namespace } from "./driver/store-driver.ts";
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

const BRAND = Symbol.for("holdfast.Store");

/**
 * Values that outlive a conversation, under a namespace (a tuple, matched by
 * whole segments) and a key. `Store` is the full one, over any driver; subclass
 * this for a storage that has only the four abstract methods. Everything
 * optional throws `UNSUPPORTED` naming its flag until it is overridden.
 */
export abstract class BaseStore {
  constructor() {
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for a store of any installed copy of holdfast. */
  static is(value: unknown): value is BaseStore {
    return typeof value === "object" && value !== null && BRAND in value;
  }

  abstract get capabilities(): StoreCapabilities;

  /** Makes contact now instead of at the first use. */
  async connect(): Promise<StoreCapabilities> {
    return this.capabilities;
  }

  /**
   * Stores the value, replacing any that is there. Once it returned, `get` gives this value or a newer one. `null` is a
   * value.
   */
  abstract put(namespace: Namespace, key: string, value: unknown, options?: PutOptions): Promise<PutResult>;

  /** The item with its version and times; `undefined` where there is no item. */
  abstract getItem<Value = unknown>(namespace: Namespace, key: string): Promise<StoreItem<Value> | undefined>;

  /** Says whether there was anything to delete. */
  abstract delete(namespace: Namespace, key: string, options?: WriteOptions): Promise<boolean>;

  /** Items in the order of their names. @default limit 100 */
  abstract list<Value = unknown>(namespace: Namespace, options?: ListOptions): Promise<Page<StoreItem<Value>>>;

  /** The value; only "not there" is `undefined`. */
  async get<Value = unknown>(namespace: Namespace, key: string): Promise<Value | undefined> {
    return (await this.getItem<Value>(namespace, key))?.value;
  }

  async exists(namespace: Namespace, key: string): Promise<boolean> {
    return (await this.getItem(namespace, key)) !== undefined;
  }

  /** The keys in this namespace, in order. */
  async listKeys(namespace: Namespace, options?: number | ListOptions): Promise<Page<string>> {
    const found = await this.list(namespace, typeof options === "number" ? { limit: options } : options);
    const keys = found.map(({ key }) => key);
    return Object.defineProperties(keys, {
      cursor: { value: found.cursor },
      warnings: { value: found.warnings },
    }) as unknown as Page<string>;
  }

  /** All of them, or the first that fails: atomic where `capabilities.transactions` is true. */
  async putBatch(entries: readonly PutEntry[]): Promise<readonly PutResult[]> {
    const results: PutResult[] = [];
    for (const { namespace, key, value, embedding, ...options } of entries) {
      results.push(
        embedding === undefined
          ? await this.put(namespace, key, value, options)
          : await this.putWithEmbedding(namespace, key, value, { ...options, embedding }),
      );
    }
    return results;
  }

  /** The values, in the order of the references; `undefined` for each that is not there. */
  async getBatch<Value = unknown>(refs: readonly ItemRef[]): Promise<readonly (Value | undefined)[]> {
    return (await this.getItems<Value>(refs)).map((item) => item?.value);
  }

  /** The items, in the order of the references; `undefined` for each that is not there. */
  async getItems<Value = unknown>(refs: readonly ItemRef[]): Promise<readonly (StoreItem<Value> | undefined)[]> {
    const items: (StoreItem<Value> | undefined)[] = [];
    for (const { namespace, key } of refs) items.push(await this.getItem<Value>(namespace, key));
    return items;
  }

  /** Removes every item that was there when it was called; says how many. */
  async clearNamespace(namespace: Namespace, options: ClearOptions = {}): Promise<number> {
    let count = 0;
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const found = await this.list(namespace, { ...options, limit: 100, ...(cursor !== undefined && { cursor }) });
      for (const { namespace: place, key } of found) if (await this.delete(place, key)) count++;
      cursor = found.cursor;
    }
    return count;
  }

  /**
   * Makes a new value out of the one that is there, so that no other writer's
   * change is lost: `update(["limits"], "u1", (n = 0) => n + 1)`. `change` may run
   * several times. Returns the item that was written, `undefined` where it was removed.
   */
  update<Value = unknown>(
    _namespace: Namespace,
    _key: string,
    _change: UpdateFunction<Value>,
    _options?: UpdateOptions,
  ): Promise<StoreItem<Value> | undefined> {
    return this.#lacks("compareAndSet", "update");
  }

  /** Namespaces that hold items, in order. @default limit 100 */
  listNamespaces(_options?: ListNamespacesOptions): Promise<Page<Namespace>> {
    return this.#lacks("listNamespaces", "listNamespaces");
  }

  /** `search(["docs"], { query, filter })`, or for short `search(["docs"], "words to find")`. Best first. @default limit 10 */
  search<Value = unknown>(
    _namespace: Namespace,
    _options?: string | StoreSearchOptions,
  ): Promise<Page<StoreHit<Value>>> {
    return this.#lacks("search", "search");
  }

  /** `putWithEmbedding(ns, key, value, { embedding })`, or for short `putWithEmbedding(ns, key, value, embedding)`. */
  putWithEmbedding(
    _namespace: Namespace,
    _key: string,
    _value: unknown,
    _options: Vector | PutWithEmbeddingOptions,
  ): Promise<PutResult> {
    return this.#lacks("semanticSearch", "putWithEmbedding");
  }

  /** The items whose vectors are nearest to the query, best first. */
  searchByEmbedding<Value = unknown>(
    _namespace: Namespace,
    _options: EmbeddingSearchOptions,
  ): Promise<Page<StoreHit<Value>>> {
    return this.#lacks("semanticSearch", "searchByEmbedding");
  }

  /** The vector of an item; `undefined` where there is no item, or no vector with it. */
  getEmbedding(_namespace: Namespace, _key: string): Promise<readonly number[] | undefined> {
    return this.#lacks("semanticSearch", "getEmbedding");
  }

  /** This store, seen from inside a namespace: `scoped("memories", userId).put("k", value)`. */
  scoped(...namespace: readonly string[]): NamespacedStore {
    return new NamespacedStore(this, namespace);
  }

  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #lacks(flag: StoreFlag, method: string): Promise<never> {
    const { name } = this.constructor;
    const message = this.capabilities[flag]
      ? `${name} advertises "${flag}" and has no ${method}(): implement it, or leave the flag out of its capabilities`
      : `${name} cannot do this: its capability "${flag}" is false. Check capabilities.${flag} first`;
    return Promise.reject(new StateError("UNSUPPORTED", message, { capability: flag }));
  }
}

/** A store seen from inside one namespace: the same methods without it. What is outside cannot be named. */
export class NamespacedStore {
  readonly namespace: Namespace;
  readonly #store: BaseStore;

  constructor(store: BaseStore, namespace: Namespace) {
    assertNamespace(namespace);
    this.#store = store;
    this.namespace = Object.freeze([...namespace]);
  }

  /** Further inside: `users.scoped("u1")`. */
  scoped(...segments: readonly string[]): NamespacedStore {
    return new NamespacedStore(this.#store, [...this.namespace, ...segments]);
  }

  put(key: string, value: unknown, options?: PutOptions): Promise<PutResult> {
    return this.#store.put(this.namespace, key, value, options);
  }

  get<Value = unknown>(key: string): Promise<Value | undefined> {
    return this.#store.get<Value>(this.namespace, key);
  }

  getItem<Value = unknown>(key: string): Promise<StoreItem<Value> | undefined> {
    return this.#store.getItem<Value>(this.namespace, key);
  }

  exists(key: string): Promise<boolean> {
    return this.#store.exists(this.namespace, key);
  }

  delete(key: string, options?: WriteOptions): Promise<boolean> {
    return this.#store.delete(this.namespace, key, options);
  }

  update<Value = unknown>(
    key: string,
    change: UpdateFunction<Value>,
    options?: UpdateOptions,
  ): Promise<StoreItem<Value> | undefined> {
    return this.#store.update(this.namespace, key, change, options);
  }

  list<Value = unknown>(options?: ListOptions): Promise<Page<StoreItem<Value>>> {
    return this.#store.list<Value>(this.namespace, options);
  }

  listKeys(options?: number | ListOptions): Promise<Page<string>> {
    return this.#store.listKeys(this.namespace, options);
  }

  search<Value = unknown>(options?: string | StoreSearchOptions): Promise<Page<StoreHit<Value>>> {
    return this.#store.search<Value>(this.namespace, options);
  }

  putWithEmbedding(key: string, value: unknown, options: Vector | PutWithEmbeddingOptions): Promise<PutResult> {
    return this.#store.putWithEmbedding(this.namespace, key, value, options);
  }

  searchByEmbedding<Value = unknown>(options: EmbeddingSearchOptions): Promise<Page<StoreHit<Value>>> {
    return this.#store.searchByEmbedding<Value>(this.namespace, options);
  }

  getEmbedding(key: string): Promise<readonly number[] | undefined> {
    return this.#store.getEmbedding(this.namespace, key);
  }

  /** Removes what is in here; with `recursive`, also what is below. */
  clear(options?: ClearOptions): Promise<number> {
    return this.#store.clearNamespace(this.namespace, options);
  }
}
