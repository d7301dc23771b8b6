import { assertTablePrefix } from "./options.ts";

/**
 * <prefix>threads   one row per thread: the only row that writers compete for. It lies in the order of ids, without a
 *                   second tree of them: a page of threads is neighbours, and a thread is found by one lookup
 *   thread_id  TEXT PRIMARY KEY     assertAbsent: what is not found because of damage is not "no thread"
 *   thread_no  INTEGER              UNIQUE by an index, which leads from a record to the id of its thread
 *   generation TEXT
 *   tail, tail_write_id             position and write id of the newest record: together they name it
 *   head       INTEGER              position of the checkpoint that stands for the thread
 *   indexed    INTEGER              up to which position the words are indexed: saves do not wait for that
 *   stale      INTEGER              1 if that is less than the tail. A column, because the index of stale threads is
 *                                   only written when it changes: an expression would write it with every save
 *   sum        INTEGER              proves the row: rows.ts
 *
 * <prefix>records   one row per record, clustered by thread and position
 *   id         INTEGER PRIMARY KEY  = thread_no * 2^26 + seq: one range is one thread, without a second index
 *   base, head, write_id (NULL: same as checkpoint_id), checkpoint_id, names (a JSON list, or NULL), header, metadata
 *   is_hinted  INTEGER              1 if the checkpoint id ends with the row's own position, as those do that holdfast makes:
 *                                   it is found there, and only the other ids are in an index
 *   sum        INTEGER              proves the columns above, so that listing needs no body for it
 *   body       BLOB                 last, so that listing does not read it
 *
 * <prefix>appends   a view that holds nothing. A row that is inserted there advances the row of its thread, provided that
 *                   this is in every column as it is said to be, and becomes a record: an append in one statement
 *
 * <prefix>names     id, name: the further names of records, for finding them. Few records have any
 *
 * <prefix>members   member, thread_id: in which threads the newest checkpoint's metadata has that member. Written only
 *                   when that metadata changes. It narrows, and the metadata itself decides: sql-log/members.ts
 *
 * <prefix>words     FTS5, rowid = records.id. Contentless: it holds the index and no copy of the text. It is told
 *                   the words of what it has to forget, and then really forgets them (`secure-delete`)
 * <prefix>terms     the same index, read the other way: all words of one record. Slow, and seldom needed
 * <prefix>indexed   id, sum: which records' words are in there, and whether the words at hand are those
 *
 * The part `store`:
 *
 * <prefix>items          one row per item
 *   id         INTEGER PRIMARY KEY
 *   namespace  TEXT                 encoded, so that a range is all that is below one: store/driver/namespaces.ts
 *   key        TEXT                 UNIQUE with the namespace
 *   version, created_at, updated_at, expires_at (NULL: no end)
 *   value, metadata (NULL: none)    JSON, as it was given
 *   value_fields, metadata_fields   what filters look at, where that is something else (NULL: the same)
 * <prefix>item_words     FTS5, rowid = items.id, a column for each class of words
 * <prefix>item_vectors   id (one more with each), item = items.id, dims, vector. A row is never changed, so that a
 *                        process may keep what it read
 * <prefix>item_puts      of the last ten thousand vectors, gone or not, the version of the item that each was put with: a
 *                        process that does not find the one up to which it read knows that the file went back in time
 * <prefix>item_writes    the writes of the last ten minutes and what they answered: a repeated one is recognised
 *
 * <prefix>schema    the version of each part: parts.ts. Everything listed before the part `store` belongs to `checkpoints`
 *   part       TEXT PRIMARY KEY
 *   version    INTEGER
 */

export interface TableNames {
  readonly threads: string;
  readonly records: string;
  readonly appends: string;
  readonly names: string;
  readonly members: string;
  readonly words: string;
  readonly terms: string;
  readonly indexed: string;
  readonly schema: string;
  readonly items: string;
  readonly itemWords: string;
  readonly itemVectors: string;
  readonly itemPuts: string;
  readonly itemWrites: string;
}

export function tableNames(prefix: string): TableNames {
  assertTablePrefix(prefix);
  return {
    threads: `${prefix}threads`,
    records: `${prefix}records`,
    appends: `${prefix}appends`,
    names: `${prefix}names`,
    members: `${prefix}members`,
    words: `${prefix}words`,
    terms: `${prefix}terms`,
    indexed: `${prefix}indexed`,
    schema: `${prefix}schema`,
    items: `${prefix}items`,
    itemWords: `${prefix}item_words`,
    itemVectors: `${prefix}item_vectors`,
    itemPuts: `${prefix}item_puts`,
    itemWrites: `${prefix}item_writes`,
  };
}
