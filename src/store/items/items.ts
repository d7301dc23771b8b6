/** What users hand to a store and what they get back. */

import type { Namespace } from "../driver/store-driver.ts";
import type { StoreFilter } from "../search/filter.ts";

export interface StoreItem<Value = unknown> {
  readonly namespace: Namespace;
  readonly key: string;
  /** A copy: changing it changes nothing that is stored. */
  readonly value: Value;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Names the write that made it: every write gives another one, and none comes again. Hand it back as `expectedVersion`. */
  readonly version: string;
  /** Absent where the item has no end. */
  readonly expiresAt?: Date;
}

export interface StoreHit<Value = unknown> extends StoreItem<Value> {
  /**
   * Higher is better. Of `searchByEmbedding` and of `search` with `mode: "semantic"`
   * the cosine, 1 for the same direction; of other searches with a query from 0 to
   * 1, comparable only within one answer; absent without a query.
   */
  readonly score?: number;
}

/** What a write left behind. */
export interface PutResult {
  readonly version: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly expiresAt?: Date;
}

/** What of an item can be found by words, instead of the texts in its value. */
export interface IndexedText {
  /** What the item says. An embedder is given this. */
  readonly text: string;
  /** Who said it, or a title: found like the text, and not embedded. */
  readonly label?: string;
  /** What was said before: counts for 0.4, so that an answer is found by its question. */
  readonly before?: string;
  /** What was said after: counts for 0.15. */
  readonly after?: string;
}

export interface WriteOptions {
  /**
   * The version that must be there: `item.version`, or `null` for "there must be no
   * item". Anything else is `CONFLICT`, and nothing is written. @default whatever is there
   */
  readonly expectedVersion?: string | null;
  /**
   * Names this write, so that repeating it with the same id, from any process and
   * within ten minutes, changes nothing more. With the same id, and anything else to
   * write, it is `CONFLICT`. @default made for each call
   */
  readonly writeId?: string;
}

export interface PutOptions extends WriteOptions {
  /** Kept beside the value; filters reach it by `$metadata`. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** The item is gone this long after the write. Needs the capability `ttl`. */
  readonly ttlSeconds?: number;
  /**
   * What is found by words and embedded: `false` for nothing, paths into the value
   * (`"title"`, `"notes[*].text"`), or the text itself. @default the store's option
   * `index`, else every text in the value
   */
  readonly index?: false | readonly string[] | IndexedText;
}

/** A vector: as many finite numbers as the store's dimension, not all zero. Kept with single precision. */
export type Vector = readonly number[] | Float32Array;

export interface PutWithEmbeddingOptions extends PutOptions {
  readonly embedding: Vector;
}

export interface ItemRef {
  readonly namespace: Namespace;
  readonly key: string;
}

export interface PutEntry<Value = unknown> extends ItemRef, PutOptions {
  readonly value: Value;
  readonly embedding?: Vector;
}

export interface StorePageOptions {
  readonly limit?: number;
  /** From the page before. */
  readonly cursor?: string;
}

export interface ListOptions extends StorePageOptions {
  /** Also what is in namespaces below this one. @default false */
  readonly recursive?: boolean;
  readonly filter?: StoreFilter;
}

export interface StoreSearchOptions extends StorePageOptions {
  /** What to look for. Without it, all items that the filter keeps come in the order of their names. */
  readonly query?: string;
  readonly filter?: StoreFilter;
  /** Also what is in namespaces below this one. @default true */
  readonly recursive?: boolean;
  /** By words, by meaning (needs the store's `embedder`), or by both. @default "hybrid" with an embedder, else "text" */
  readonly mode?: "text" | "semantic" | "hybrid";
  /** How much the words count in a hybrid search, from 0 to 1; the vectors count for the rest. @default the store's option */
  readonly textWeight?: number;
  /** Leaves out hits with a smaller score. */
  readonly threshold?: number;
  readonly signal?: AbortSignal;
}

export interface EmbeddingSearchOptions {
  readonly query: Vector;
  /** @default 10 */
  readonly limit?: number;
  /** Leaves out items with a smaller cosine. */
  readonly threshold?: number;
  readonly filter?: StoreFilter;
  /** Also what is in namespaces below this one. @default true */
  readonly recursive?: boolean;
}

/** In a prefix or suffix: exactly one segment, whichever it is. */
export const anySegment: unique symbol = Symbol.for("holdfast.anySegment");

export type NamespacePattern = readonly (string | typeof anySegment)[];

export interface ListNamespacesOptions extends StorePageOptions {
  /** Only namespaces that begin with these segments. */
  readonly prefix?: NamespacePattern;
  /** Only namespaces that end with these segments. */
  readonly suffix?: NamespacePattern;
  /** Longer ones are cut to this many segments, and each is listed once. */
  readonly maxDepth?: number;
}

export interface ClearOptions {
  /** Also the namespaces below this one. @default false */
  readonly recursive?: boolean;
}

/** What `update` makes of the current value: the new one, or `undefined` to remove it. */
export type UpdateFunction<Value> = (
  current: Value | undefined,
  item: StoreItem<Value> | undefined,
) => Value | undefined | Promise<Value | undefined>;

export interface UpdateOptions extends Omit<PutOptions, "expectedVersion" | "metadata" | "ttlSeconds"> {
  /** @default those that are there */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** @default the item ends when it would have ended anyway */
  readonly ttlSeconds?: number;
}
