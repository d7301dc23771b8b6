import type { Driver } from "../../driver/driver.ts";
import type { Durability } from "../../driver/durability.ts";
import { described } from "../../internal/known-options.ts";

/**
 * The contract between the class users hold (`Store`) and a storage system. A
 * store is a table of items, each under a namespace (a tuple) and a key; a
 * driver moves them and knows nothing of agents. Everything that is a feature
 * (codec, filters' syntax, word splitting, embedders, hybrid ranking, updates,
 * paging) is made once, above. `testStore` of `holdfast/conformance` proves the
 * duties.
 *
 * Common duties. A driver reports every failure by throwing what its client
 * threw: the caller wraps it once, with the driver's `classify`. It never turns a
 * failure into an answer. Namespaces, keys, filters and vectors were checked
 * already; two different (namespace, key) pairs must still never meet in one
 * place, and a namespace is matched by whole segments (`encodeNamespace` gives
 * both). An item past its end is absent for every operation, whatever was swept.
 * The time that decides this is the storage's, not the caller's.
 */

/** A tuple of segments: `["memories", "user-42"]`. */
export type Namespace = readonly string[];

export interface ItemId {
  readonly namespace: Namespace;
  readonly key: string;
}

/** An item as it lies in the storage. Times are milliseconds since 1970 by the storage's clock. */
export interface StoredItem extends ItemId {
  /** JSON text, opaque to the driver; it comes back as it was given. */
  readonly value: string;
  /** The same of the metadata; absent where the item has no metadata. */
  readonly metadata: string | undefined;
  /** The `version` of the change that wrote it. Two writes never have the same, also where the storage went back in time between them. */
  readonly version: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number | undefined;
}

/** The words of an item in four classes, each a text of words separated by single spaces. A word is stemmed letters, digits and `_`. */
export interface ItemWords {
  /** Weighs 1. */
  readonly text: string;
  /** Weighs 1: who said it, a title. */
  readonly label: string;
  /** Weighs 0.4: what stood before it. */
  readonly before: string;
  /** Weighs 0.15: what came after it. */
  readonly after: string;
}

/** How much a word counts in each class. */
export const WORD_WEIGHTS: Readonly<Record<keyof ItemWords, number>> = { text: 1, label: 1, before: 0.4, after: 0.15 };

/** What every change says beside the item that it is of. */
interface WriteTerms extends ItemId {
  /** Names the write; the same when it is repeated. */
  readonly writeKey: string;
  /**
   * The digest of what the write makes of the item. The same write key with another digest is another write, and is
   * refused.
   */
  readonly digest: string;
  /** The version that must be there, `null` for "no item"; `undefined` takes whatever is. */
  readonly expected: string | null | undefined;
}

/** Replaces the item whole, with its words and its vector: what is not given is not there afterwards. */
export interface PutChange extends WriteTerms {
  readonly kind: "put";
  /** Names what this write leaves: kept with the item, and compared by nothing but equality. At most 64 characters of base64url. */
  readonly version: string;
  readonly value: string;
  readonly metadata: string | undefined;
  /** What filters look at, as JSON that any storage takes: `projectFields` made it from the value and from the metadata. */
  readonly fields: { readonly value: string; readonly metadata: string };
  readonly words: ItemWords | undefined;
  /** Finite numbers, not all zero. */
  readonly vector: Float32Array | undefined;
  /** Only with `capabilities.ttl`: the item ends this long after the write, by the storage's clock, or when it would have ended anyway. */
  readonly ttlMs: number | "keep" | undefined;
}

export interface RemoveChange extends WriteTerms {
  readonly kind: "remove";
}

export type Change = PutChange | RemoveChange;

/** What a change left: of a removed item, its last version, and whether there was one. */
export interface ChangeResult {
  /** The version that was written, or that was removed; `null` where there was nothing to remove. */
  readonly version: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number | undefined;
  /** The write had been made before: nothing was changed now. */
  readonly repeated: boolean;
}

export type WriteOutcome = { readonly applied: true; readonly results: readonly ChangeResult[] } | RefusedWrite;

/** Nothing was written. */
export interface RefusedWrite {
  readonly applied: false;
  /** The first change that was refused. */
  readonly index: number;
  /** Why: another version is there, or the write key belongs to a write with another digest. */
  readonly because: "version" | "write key";
  /**
   * The present version, `null` for no item. Given only if the version is the reason.
   */
  readonly version: string | null;
}

/** Which items an operation looks at. */
export interface Scope {
  /** May be empty: then every namespace is below it. */
  readonly namespace: Namespace;
  /** Also the namespaces below it. */
  readonly recursive: boolean;
  /** Only items that this holds for. */
  readonly condition: Condition | undefined;
}

export interface RankedItem {
  readonly item: StoredItem;
  /** Higher is better. Of a vector search, the cosine; of a text search, comparable only within one answer. */
  readonly score: number;
}

export interface StoreDriverCapabilities {
  readonly durability: Durability;
  /** Whether a `write` of several changes is atomic. Where it is not, each is called by itself. */
  readonly transactions: boolean;
  /** Whether `ttlMs` is honoured. */
  readonly ttl: boolean;
  /** The largest value, metadata included, in bytes. */
  readonly maxItemBytes: number;
  /** How vectors are searched: every one of the scope is compared, or an index is used where that finds the same. */
  readonly vectorSearch: "exact" | "index" | "none";
  /** How many vectors an exact search compares at most; above it is refused with `TOO_LARGE`. */
  readonly maxExactVectors: number;
  /** Whether `connect` reaches the storage; until it returned, the others are the least that is sure. @default false */
  readonly connects?: boolean;
  /** Whether `searchText` works where it is there. @default true */
  readonly textSearch?: boolean;
  /** For a sealing layer: whether vectors lie in plain below it. Without it nothing is sealed here. */
  readonly sealing?: "all" | "except index";
}

/** At most this many changes in one `write`, and this many ids in one `read`. */
export const MOST_CHANGES = 500;

/** A write can be repeated so long after it was made, and is then still recognised. */
export const WRITES_REMEMBERED_MS = 600_000;

export interface StoreDriver extends Driver {
  /** True of this instance. Fixed once constructed, or with `connects` once `connect` returned. */
  readonly capabilities: StoreDriverCapabilities;

  /**
   * Makes all changes or refuses, in one atomic step (with one change also where
   * `transactions` is false). No two changes are of the same item.
   *
   * A change whose `writeKey` was applied within `WRITES_REMEMBERED_MS` is not
   * made again: its result is that of the first time, whatever happened to the
   * item since, and whatever it expects. With another digest than the first time it
   * is refused. When it returned, it is as durable as `capabilities.durability` says.
   */
  write(changes: readonly Change[]): Promise<WriteOutcome>;

  /** The items, in the order of the ids; `undefined` for each that is not there. */
  read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]>;

  /** Items in the order of `compareIds`, behind `after`; fewer than `limit` only where there are no more. */
  scan(scope: Scope, options: { readonly after?: ItemId; readonly limit: number }): Promise<readonly StoredItem[]>;

  /** Namespaces that hold an item, at or below `prefix`, in the order of `compareNamespaces`, behind `after`; fewer than `limit` only where there are no more. */
  namespaces(
    prefix: Namespace,
    options: { readonly after?: Namespace; readonly limit: number },
  ): Promise<readonly Namespace[]>;

  /**
   * Takes out up to `limit` items of the scope that were last written at or
   * before `before`, with everything that was kept for them; says how many.
   * Less than `limit` means that there are no more.
   */
  clear(scope: Omit<Scope, "condition">, options: { readonly before: number; readonly limit: number }): Promise<number>;

  /** Items whose words hold at least one of `words`, best first: rarer words, and more of them, count for more. */
  searchText?(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]>;

  /**
   * The items whose vectors have the largest cosines with `vector`, best first:
   * `limit` of them where the scope has that many with vectors of this length.
   * Vectors of another length are left out. Refuses with `TOO_LARGE` where it
   * cannot compare as many; never answers with fewer instead.
   */
  searchVector?(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]>;

  /** The vector that was put with the item, if any. */
  readVector?(id: ItemId): Promise<Float32Array | undefined>;

  /** The length of the vectors at or below a namespace, of whichever is found first; `undefined` where there are no vectors. */
  dimension?(below: Namespace): Promise<number | undefined>;

  /**
   * Goes through all that is stored, in bounded steps, and not by what items are found by: takes out what has ended, and
   * throws `CORRUPT` where anything is kept that no list shows. Asked by an erasure before it trusts that there is nothing
   * left. Not needed where what finds an item and the item itself cannot come apart.
   */
  verify?(): Promise<void>;

  /** The storage's own clock. */
  now(): Promise<number>;
}

/** A driver that can be searched both ways, as all in this package can be. */
export type FullStoreDriver = StoreDriver &
  Required<Pick<StoreDriver, "searchText" | "searchVector" | "readVector" | "dimension">>;

// What a filter means, after its syntax was checked: what drivers evaluate or translate.

/** What a filter can compare with. */
export type Scalar = string | number | boolean | null;

/** Where a field is: in the value or the metadata, then the names of members from the outside in. */
export interface FieldPath {
  readonly of: "value" | "metadata";
  readonly names: readonly string[];
}

export type Comparison = "gt" | "gte" | "lt" | "lte";

/**
 * A missing field equals nothing, and is neither greater nor less than anything.
 * Scalars of different types are never equal and never compared. Texts are
 * compared by code points. Members of arrays have no paths. A value that is not
 * JSON (a Date, a Map, bytes, NaN) exists and equals nothing.
 */
export type Condition =
  | { readonly op: "and" | "or"; readonly of: readonly Condition[] }
  | { readonly op: "not"; readonly of: Condition }
  | { readonly op: "in"; readonly path: FieldPath; readonly operands: readonly Scalar[] }
  | { readonly op: "exists"; readonly path: FieldPath }
  | { readonly op: Comparison; readonly path: FieldPath; readonly operand: string | number };

type Method = {
  [Name in keyof StoreDriver]-?: NonNullable<StoreDriver[Name]> extends (...given: never) => unknown ? Name : never;
}[keyof StoreDriver];

/** Every method of the contract, and when it must be there: with one missing here this does not compile. */
const METHODS: Readonly<Record<Method, "always" | "with vectors" | "if it likes">> = {
  write: "always",
  read: "always",
  scan: "always",
  namespaces: "always",
  clear: "always",
  now: "always",
  classify: "always",
  close: "always",
  searchVector: "with vectors",
  readVector: "with vectors",
  dimension: "with vectors",
  searchText: "if it likes",
  verify: "if it likes",
  connect: "if it likes",
  scrub: "if it likes",
};

/** Refuses an incomplete driver when a store is made from it, not at the first write. */
export function assertStoreDriver(value: unknown): asserts value is StoreDriver {
  const takes = "new Store(driver) takes a StoreDriver";
  const instead = "For a built-in backend use await openStore(url), or its factory";
  const driver = (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const lacks = (name: string): boolean => typeof driver[name] !== "function";
  const needed = (when: string): readonly string[] =>
    Object.entries(METHODS).flatMap(([name, its]) => (its === when ? [name] : []));
  const always = needed("always");
  if (always.every(lacks)) throw new TypeError(`${takes}, not ${described(value)}. ${instead}`);
  const { capabilities } = driver as { readonly capabilities?: unknown };
  if (typeof capabilities !== "object" || capabilities === null) {
    throw new TypeError(`${takes}; this one has no capabilities, which say what it promises`);
  }
  const hasVectors = (capabilities as StoreDriver["capabilities"]).vectorSearch !== "none";
  const missing = [...always, ...(hasVectors ? needed("with vectors") : [])].filter(lacks);
  if (missing.length > 0) throw new TypeError(`${takes}; this one lacks ${missing.join(", ")}`);
}
