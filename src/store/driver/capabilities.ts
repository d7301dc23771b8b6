import type { Access } from "../../driver/access.ts";
import type { Durability } from "../../driver/durability.ts";
import type { StoreDriver } from "./store-driver.ts";

/**
 * What a store can do. True means that it works; false means that the call throws
 * `UNSUPPORTED` naming the flag. With `access: "read"` whatever writes is
 * `PERMISSION_DENIED`, and its flags are false.
 */
export interface StoreCapabilities {
  /** `search()` by words. */
  readonly search: boolean;
  /** `putWithEmbedding()`, `searchByEmbedding()`, `getEmbedding()`. */
  readonly semanticSearch: boolean;
  /** The length of vectors here; `undefined` until it is fixed by an option or by the first vector. */
  readonly embeddingDimension: number | undefined;
  /** `ttlSeconds`: an item past its end is never read again. */
  readonly ttl: boolean;
  /** `listNamespaces()`. */
  readonly listNamespaces: boolean;
  /** `putBatch()` and `getBatch()` take a few round trips, not one per item. */
  readonly batchOperations: boolean;
  /** `putBatch()` is all or nothing. */
  readonly transactions: boolean;
  /** `expectedVersion` and `update()`: of two competing writers one is refused. */
  readonly compareAndSet: boolean;
  /** Whether vectors are all compared, or an index is used where that finds the same. */
  readonly vectorSearch: "exact" | "index" | "none";
  /** Whether what is stored is sealed; then a search by words opens every item. "except index": vectors lie in plain, where they are found. */
  readonly sealing: "none" | "all" | "except index";
  /** How durable a finished write is. */
  readonly durability: Durability;
  readonly limits: { readonly maxItemBytes: number; readonly maxExactVectors: number };
}

export type StoreFlag = {
  [Name in keyof StoreCapabilities]: StoreCapabilities[Name] extends boolean ? Name : never;
}[keyof StoreCapabilities];

const NO_STORE_CAPABILITIES: StoreCapabilities = Object.freeze({
  search: false,
  semanticSearch: false,
  embeddingDimension: undefined,
  ttl: false,
  listNamespaces: false,
  batchOperations: false,
  transactions: false,
  compareAndSet: false,
  vectorSearch: "none",
  sealing: "none",
  durability: "memory",
  limits: Object.freeze({ maxItemBytes: Number.POSITIVE_INFINITY, maxExactVectors: 0 }),
});

/** An honest set for a store of your own: every flag false unless it is named. */
export const storeCapabilities = (advertised: Partial<StoreCapabilities>): StoreCapabilities =>
  Object.freeze({ ...NO_STORE_CAPABILITIES, ...advertised });

/** What the class above makes of a driver's. */
export function capabilitiesOfDriver(
  driver: StoreDriver,
  access: Access,
  embeddingDimension: number | undefined,
): StoreCapabilities {
  const mayWrite = access === "write";
  const { durability, transactions, ttl, maxItemBytes, vectorSearch, maxExactVectors } = driver.capabilities;
  return Object.freeze({
    search: driver.searchText !== undefined && driver.capabilities.textSearch !== false,
    semanticSearch: vectorSearch !== "none",
    embeddingDimension,
    ttl: ttl && mayWrite,
    listNamespaces: true,
    batchOperations: true,
    transactions: transactions && mayWrite,
    compareAndSet: mayWrite,
    vectorSearch,
    sealing: driver.capabilities.sealing ?? "none",
    durability,
    limits: Object.freeze({ maxItemBytes, maxExactVectors }),
  });
}
