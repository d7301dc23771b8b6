import type { Page } from "../driver/page.ts";
import type { BaseStore } from "./base-store.ts";
import type {
  ClearOptions,
  EmbeddingSearchOptions,
  ListOptions,
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
} from "./items.ts";
import { assertNamespace } from "./namespaces.ts";
import type { Namespace } from "./store-driver.ts";

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
