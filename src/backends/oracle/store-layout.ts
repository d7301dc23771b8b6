import { invalid } from "../../driver/options.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import { encodeId } from "../../store/driver/namespaces.ts";
import type { ItemId } from "../../store/driver/store-driver.ts";
import { MAX_DIMENSION } from "../../store/search/vectors.ts";
import { qualified } from "./layout.ts";
import { assertTableName } from "./names.ts";

export const DEFAULT_STORE_TABLE = "HOLDFAST_STORE";

/**
 * Of the tableName LOCUS_STORE. Times are UTC.
 *
 * LOCUS_STORE          one row per item
 *   namespace, key                               PRIMARY KEY; each segment of a namespace ends with U+001F
 *   id                 VARCHAR2                  made when the item is, for LOCUS_STORE_WORDS
 *   bucket             NUMBER                    by the name of the item: which row of LOCUS_STORE_BUCKETS its writers lock
 *   version            VARCHAR2                  names the write that made it
 *   created_at, updated_at, expires_at  TIMESTAMP    NULL: it never ends. Past its end, an item is invisible
 *   value, metadata    VARCHAR2                  JSON, exactly as it was given; NULL where it is long
 *   long_value, long_metadata  CLOB
 *   lengthy            NUMBER                    1: one of them is long
 *   unindexed          NUMBER                    1: JSON functions may not find in it what a filter looks for
 *   word_count         NUMBER                    0 where nothing of it is found by words
 *   embedding          VECTOR(dimension, FLOAT32)    the part `vectors`, where the store has a `dimension`
 *
 * LOCUS_STORE_WORDS    each word of an item, and how much it counts; deleted with its item
 *   item, word                                   PRIMARY KEY
 *   weight             NUMBER
 *
 * LOCUS_STORE_BUCKETS  writers of a bucket's items lock its row, because an item that does not exist has no row to lock
 *   bucket                                       PRIMARY KEY
 *
 * LOCUS_STORE_RECENT   the writes of the last minutes, so that a retry is recognised
 *   write_key                                    PRIMARY KEY
 *   bucket, digest, version (NULL: there was nothing to remove), created_at, updated_at, expires_at
 *
 * LOCUS_STORE_SCHEMA   the version of each part
 */
export interface StoreTables {
  /** As it was given, for messages. */
  readonly tableName: string;
  readonly owner: string | undefined;
  readonly items: string;
  readonly words: string;
  readonly buckets: string;
  readonly recent: string;
  readonly version: string;
}

export function storeTables(tableName: string): StoreTables {
  assertTableName(tableName);
  const { owner, full: items } = qualified(tableName);
  return {
    tableName,
    owner,
    items,
    words: `${items}_WORDS`,
    buckets: `${items}_BUCKETS`,
    recent: `${items}_RECENT`,
    version: `${items}_SCHEMA`,
  };
}

/** The number of rows that the first version creates: writers of different buckets never wait for each other. */
export const BUCKETS = 64;

export const bucketOf = (id: ItemId): number =>
  (nodeCrypto().createHash("sha256").update(encodeId(id)).digest()[0] ?? 0) % BUCKETS;

/** It becomes part of a statement. */
export function checkedDimension(taker: string, dimension: number | undefined): number | undefined {
  if (dimension === undefined) return undefined;
  if (Number.isInteger(dimension) && dimension >= 1 && dimension <= MAX_DIMENSION) return dimension;
  throw invalid(`${taker}(): dimension must be a whole number from 1 to ${MAX_DIMENSION}`);
}
