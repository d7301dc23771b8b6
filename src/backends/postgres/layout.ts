import { createHash } from "node:crypto";
import { assertNames } from "./names.ts";

/**
 * <schema>.<prefix>threads   one row per thread: the only row that writers compete for
 *   thread_id   text, bytewise           PRIMARY KEY
 *   generation  text
 *   tail, tail_write_id                  position and write id of the newest record: together they name it
 *   head        integer                  position of the checkpoint that stands for the thread
 *   metadata    jsonb                    of the head checkpoint, for queries; NULL where there is none
 *   unindexed   boolean                  it has metadata that jsonb cannot hold (\u0000, half a surrogate pair)
 *   indexed     integer                  up to which position the words are indexed: saves do not wait for that
 *   stale       boolean                  whether there may be more to index
 *   expires_at  timestamptz              NULL: never. Past it, the thread is invisible
 *
 * <schema>.<prefix>records   one row per record; deleted with its thread
 *   thread_id, seq                       PRIMARY KEY
 *   base, head, write_id (NULL: same as checkpoint_id), checkpoint_id, header
 *   names       text                     further names as a JSON list; NULL for nearly all
 *   metadata    text                     exactly as it was given
 *   body        bytea
 *
 * <schema>.<prefix>names     the further names of records, for finding them; deleted with its thread
 *   thread_id, name, seq                 PRIMARY KEY
 *
 * <schema>.<prefix>words     what search looks at; deleted with its thread
 *   thread_id, seq                       PRIMARY KEY
 *   words       tsvector                 of the messages that the record brought in, and of no others
 *   at          bigint                   when it was indexed, in microseconds since 1970; grows within a thread: newest first
 *
 * <schema>.<prefix>watchers  the watchers of a thread: without one, a save sends no notification
 *   thread_id, watcher                   PRIMARY KEY
 *   until       timestamptz
 *
 * <schema>.<prefix>append, <prefix>append_many, <prefix>append_with_edits, <prefix>edit_many,
 * <prefix>index_words: the functions that write; <prefix>sort_words: the one that sorts words into their index;
 * <prefix>search_words: the one that searches; <prefix>drop_records: the trigger that deletes with a
 * thread what is kept for it
 *
 * The part `store`. Times are milliseconds since 1970 by the server's clock:
 *
 * <schema>.<prefix>items        one row per item
 *   id          bigint                   PRIMARY KEY
 *   namespace   text, bytewise           encoded, so that a range is all that is below one: store/driver/namespaces.ts
 *   key         text, bytewise           UNIQUE with the namespace
 *   version, created_at, updated_at, expires_at (NULL: no end)
 *   value, metadata (NULL: none)         JSON as it was given
 *   value_fields, metadata_fields jsonb  what filters look at
 *   words       tsvector                 a weight for each class of words; NULL: not indexed
 * <schema>.<prefix>item_vectors item, dims, vector real[]; deleted with its item. pgvector is not needed to keep one
 * <schema>.<prefix>item_writes  the writes of the last ten minutes and what they answered: a repeated one is recognised
 * <schema>.<prefix>write_items  the function that writes
 * <prefix>items_hnsw_<dims>     pgvector's index of the vectors of one length, where it was asked for
 *
 * <schema>.<prefix>schema    the version of each part: parts.ts. Everything listed before the part `store` belongs to `checkpoints`
 *   part        text                     PRIMARY KEY
 *   version     integer
 *
 * The thread id comes first in every key, so that the tables can be partitioned by it.
 */
export interface TableNames {
  readonly schema: string;
  readonly threads: string;
  readonly records: string;
  readonly names: string;
  readonly words: string;
  readonly watchers: string;
  readonly version: string;
  readonly append: string;
  readonly appendMany: string;
  readonly appendWithEdits: string;
  readonly editMany: string;
  readonly indexWords: string;
  readonly sortWords: string;
  readonly dropRecords: string;
  readonly searchWords: string;
  readonly items: string;
  readonly itemVectors: string;
  readonly itemWrites: string;
  readonly writeItems: string;
  /** The channel of notifications. */
  readonly channel: string;
  /** For index names, which are not qualified with a schema. */
  readonly prefix: string;
}

export function tableNames(schema: string, prefix: string): TableNames {
  assertNames(schema, prefix);
  const named = (name: string): string => `"${schema}"."${prefix}${name}"`;
  return {
    schema: `"${schema}"`,
    threads: named("threads"),
    records: named("records"),
    names: named("names"),
    words: named("words"),
    watchers: named("watchers"),
    version: named("schema"),
    append: named("append"),
    appendMany: named("append_many"),
    appendWithEdits: named("append_with_edits"),
    editMany: named("edit_many"),
    indexWords: named("index_words"),
    sortWords: named("sort_words"),
    dropRecords: named("drop_records"),
    searchWords: named("search_words"),
    items: named("items"),
    itemVectors: named("item_vectors"),
    itemWrites: named("item_writes"),
    writeItems: named("write_items"),
    channel: `holdfast_${createHash("sha256").update(`${schema}.${prefix}`).digest("hex").slice(0, 32)}`,
    prefix,
  };
}
