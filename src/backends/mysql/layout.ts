import { positional } from "../../checkpoint/sql-log/dialect.ts";
import type { PlainDialect, PlainTables } from "../../checkpoint/sql-log/plain-changes.ts";
import { entryColumns } from "../../checkpoint/sql-log/rows.ts";
import type { Part, VersionTable } from "../../driver/migrations.ts";
import { invalid } from "../../driver/options.ts";

/**
 * Ids, names and all other texts are bytes (VARBINARY, BLOB): no collation makes two of them equal, and no character set
 * changes one. To read them in SQL: CONVERT(thread_id USING utf8mb4). Every table is InnoDB with dynamic rows, whose keys
 * take 3072 bytes.
 *
 * <prefix>threads   one row per thread: the only row that writers compete for
 *   thread_id                            PRIMARY KEY
 *   thread_no                            UNIQUE: grows with the threads that are made; the words go by it
 *   generation, tail, tail_write_id      the newest record: together they name it
 *   head                                 position of the checkpoint that stands for the thread
 *   members                              the numbers that the table of members has for it, as a JSON list
 *   indexed, stale                       up to which position the words are indexed, and whether that may be less than the tail
 *   edits                                how often records were replaced or dropped
 *   expires_at                           UTC; NULL: never. Past it, the thread is invisible
 *
 * <prefix>records   thread_id, seq: PRIMARY KEY. names: further names as a JSON list. body_bytes: known without reading the body
 * <prefix>names     thread_id, name, seq: the further names, for finding them
 * <prefix>members   member, thread_id: the index of metadata (sql-log/members.ts)
 * <prefix>words     word, thread_no, seq, word_count: the index of words (sql-log/words-table.ts)
 * <prefix>schema    part, version
 *
 * All but the last are deleted with their thread, by foreign keys. The part `store`, whose times are milliseconds since 1970:
 *
 * <prefix>items         namespace (encoded: store/driver/namespaces.ts), key: PRIMARY KEY. id: made anew by every put
 * <prefix>item_words    item, word, weight; deleted with the item, as is
 * <prefix>item_vectors  item, dims, vector: four little-endian bytes a number
 * <prefix>item_writes   the writes of the last ten minutes and what they answered: a repeated one is recognised
 * <prefix>item_buckets  writers of a bucket's items lock its row, because an item that does not exist has no row to lock
 */
export interface TableNames extends PlainTables {
  readonly prefix: string;
  readonly version: string;
  readonly items: string;
  readonly itemWords: string;
  readonly itemVectors: string;
  readonly itemWrites: string;
  readonly itemBuckets: string;
}

export function tableNames(prefix: string): TableNames {
  // An identifier has at most 64 characters.
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(prefix)) {
    throw invalid("tablePrefix must be letters, digits and underscores, at most 40 of them");
  }
  const named = (name: string): string => `\`${prefix}${name}\``;
  return {
    ...{ prefix, threads: named("threads"), records: named("records"), names: named("names") },
    ...{ members: named("members"), words: named("words"), version: named("schema") },
    ...{ items: named("items"), itemWords: named("item_words"), itemVectors: named("item_vectors") },
    ...{ itemWrites: named("item_writes"), itemBuckets: named("item_buckets") },
  };
}

const NOW = "UTC_TIMESTAMP(3)";
const jsonTable = (list: string, columns: string): string =>
  `JSON_TABLE(CONVERT(${list} USING utf8mb4), '$[*]' COLUMNS (${columns}))`;

export const DIALECT: PlainDialect = {
  statement: positional,
  page: (name) => `LIMIT :${name}`,
  now: NOW,
  later: (name) => `TIMESTAMPADD(MICROSECOND, :${name} * 1000, ${NOW})`,
  ttlMs: "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), t.expires_at) / 1000",
  clock: "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1000 AS now",
  entry: entryColumns,
  body: (table, wanted) =>
    wanted === undefined ? `${table}.body` : `CASE WHEN ${wanted} THEN ${table}.body END AS body`,
  bytesOf: (table) => `${table}.body_bytes`,
  stale: "t.stale = 1",
  progress: "t.indexed, t.edits",
  jsonNumbers: (name) => jsonTable(`:${name}`, "n BIGINT PATH '$'"),
  jsonWords: (list) => jsonTable(list, "low VARCHAR(1026) PATH '$[0]', high VARCHAR(1026) PATH '$[1]'"),
  jsonRecords: (list) =>
    jsonTable(
      list,
      "seq INT PATH '$[0]', word_count INT PATH '$[1]', NESTED PATH '$[2][*]' COLUMNS (word VARCHAR(1024) PATH '$')",
    ),
  fromHex: (text) => `UNHEX(${text})`,
};

const LIKE_ALL = "ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4";

/** Version 1 of the part `checkpoints`. This text is frozen. Each statement may run again: a migration is no transaction here. */
function checkpointsV1({ threads, records, names, members, words }: TableNames): readonly string[] {
  const ofThread = `FOREIGN KEY (thread_id) REFERENCES ${threads} (thread_id) ON DELETE CASCADE`;
  return [
    `CREATE TABLE IF NOT EXISTS ${threads} (
  thread_id VARBINARY(1088) NOT NULL PRIMARY KEY,
  thread_no BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE,
  generation VARBINARY(1024) NOT NULL,
  tail INT NOT NULL,
  tail_write_id VARBINARY(1024) NOT NULL,
  head INT NOT NULL,
  members BLOB,
  indexed INT NOT NULL DEFAULT 0,
  edits INT NOT NULL DEFAULT 0,
  stale TINYINT NOT NULL DEFAULT 1,
  expires_at DATETIME(3),
  KEY by_expiry (expires_at),
  KEY by_staleness (stale, thread_id)
) ${LIKE_ALL}`,
    `CREATE TABLE IF NOT EXISTS ${records} (
  thread_id VARBINARY(1088) NOT NULL,
  seq INT NOT NULL,
  base INT NOT NULL,
  head INT NOT NULL,
  write_id VARBINARY(1024),
  checkpoint_id VARBINARY(1024),
  names MEDIUMBLOB,
  header MEDIUMBLOB NOT NULL,
  metadata LONGBLOB,
  body_bytes INT NOT NULL,
  body LONGBLOB NOT NULL,
  PRIMARY KEY (thread_id, seq),
  KEY by_checkpoint (thread_id, checkpoint_id, seq),
  ${ofThread}
) ${LIKE_ALL}`,
    `CREATE TABLE IF NOT EXISTS ${names} (
  thread_id VARBINARY(1088) NOT NULL,
  name VARBINARY(1024) NOT NULL,
  seq INT NOT NULL,
  PRIMARY KEY (thread_id, name, seq),
  ${ofThread}
) ${LIKE_ALL}`,
    `CREATE TABLE IF NOT EXISTS ${members} (
  member BIGINT NOT NULL,
  thread_id VARBINARY(1088) NOT NULL,
  PRIMARY KEY (member, thread_id),
  KEY by_thread (thread_id),
  ${ofThread}
) ${LIKE_ALL}`,
    `CREATE TABLE IF NOT EXISTS ${words} (
  word VARBINARY(512) NOT NULL,
  thread_no BIGINT UNSIGNED NOT NULL,
  seq INT NOT NULL,
  word_count INT NOT NULL,
  PRIMARY KEY (word, thread_no, seq),
  KEY by_record (thread_no, seq),
  FOREIGN KEY (thread_no) REFERENCES ${threads} (thread_no) ON DELETE CASCADE
) ${LIKE_ALL}`,
  ];
}

/** Version 1 of the part `store`. This text is frozen, and each statement may run again. */
function storeV1({ items, itemWords, itemVectors, itemWrites, itemBuckets }: TableNames): readonly string[] {
  const ofItem = `FOREIGN KEY (item) REFERENCES ${items} (id) ON DELETE CASCADE`;
  const buckets = Array.from({ length: 64 }, (_, bucket) => `(${bucket})`).join(", ");
  return [
    `CREATE TABLE IF NOT EXISTS ${items} (
  namespace VARBINARY(1088) NOT NULL,
  \`key\` VARBINARY(1024) NOT NULL,
  id VARBINARY(64) NOT NULL UNIQUE,
  bucket INT NOT NULL,
  version VARBINARY(64) NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  expires_at BIGINT,
  word_count INT NOT NULL,
  value LONGBLOB NOT NULL,
  metadata LONGBLOB,
  PRIMARY KEY (namespace, \`key\`),
  KEY by_end (bucket, expires_at)
) ${LIKE_ALL}`,
    `CREATE TABLE IF NOT EXISTS ${itemWords} (
  item VARBINARY(64) NOT NULL,
  word VARBINARY(512) NOT NULL,
  weight DOUBLE NOT NULL,
  PRIMARY KEY (item, word),
  KEY by_word (word, item, weight),
  ${ofItem}
) ${LIKE_ALL}`,
    `CREATE TABLE IF NOT EXISTS ${itemVectors} (
  item VARBINARY(64) NOT NULL PRIMARY KEY,
  dims INT NOT NULL,
  vector LONGBLOB NOT NULL,
  ${ofItem}
) ${LIKE_ALL}`,
    `CREATE TABLE IF NOT EXISTS ${itemWrites} (
  write_key VARBINARY(64) NOT NULL PRIMARY KEY,
  bucket INT NOT NULL,
  digest VARBINARY(64) NOT NULL,
  version VARBINARY(64),
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  expires_at BIGINT,
  KEY by_time (bucket, updated_at)
) ${LIKE_ALL}`,
    `CREATE TABLE IF NOT EXISTS ${itemBuckets} (bucket INT NOT NULL PRIMARY KEY) ${LIKE_ALL}`,
    `INSERT IGNORE INTO ${itemBuckets} (bucket) VALUES ${buckets}`,
  ];
}

/** The tables of the store. */
export const store = (names: TableNames): Part => ({ name: "store", migrations: [storeV1(names)] });

/** The tables of threads and records. A new migration is added at the end. */
export const checkpoints = (names: TableNames): Part => ({ name: "checkpoints", migrations: [checkpointsV1(names)] });

export const allParts = (names: TableNames): readonly Part[] => [checkpoints(names), store(names)];

export const versionTable = ({ version: table }: TableNames): VersionTable => ({
  create: `CREATE TABLE IF NOT EXISTS ${table} (part VARCHAR(64) NOT NULL PRIMARY KEY, version INT NOT NULL) ${LIKE_ALL}`,
  write: (part, version) =>
    `INSERT INTO ${table} (part, version) VALUES ('${part}', ${version}) ON DUPLICATE KEY UPDATE version = ${version}`,
});
