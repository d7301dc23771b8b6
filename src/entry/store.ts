/** Values across threads: the store, its views, and the options and answers of every method. */
export { openStore } from "../backends/open-store.ts";
export type { Page } from "../driver/page.ts";
export type { JsonValue } from "../state/values/codec.ts";
export { BaseStore, NamespacedStore } from "../store/base-store.ts";
export { type StoreCapabilities, type StoreFlag, storeCapabilities } from "../store/driver/capabilities.ts";
export type { Namespace, StoreDriver } from "../store/driver/store-driver.ts";
export {
  anySegment,
  type ClearOptions,
  type EmbeddingSearchOptions,
  type IndexedText,
  type ItemRef,
  type ListNamespacesOptions,
  type ListOptions,
  type NamespacePattern,
  type PutEntry,
  type PutOptions,
  type PutResult,
  type PutWithEmbeddingOptions,
  type StoreHit,
  type StoreItem,
  type StorePageOptions,
  type StoreSearchOptions,
  type UpdateFunction,
  type UpdateOptions,
  type Vector,
  type WriteOptions,
} from "../store/items/items.ts";
export type { StoreOptions } from "../store/items/store-access.ts";
export type { Embedder, EmbeddingModel, EmbedFunction } from "../store/search/embedder.ts";
export type { FieldFilter, StoreFilter } from "../store/search/filter.ts";
export { Store } from "../store/store.ts";
export { StoreContext, type StoreContextOptions } from "../store/store-context.ts";
