import { assertTableName } from "./names.ts";

export const DEFAULT_TABLE_NAME = "HOLDFAST";

/**
 * Of the tableName HOLDFAST; all names unquoted. `''` is NULL here, so every text that may be empty may be NULL.
 *
 * HOLDFAST            one row per thread: the only row that writers compete for, and the one that SQL users read
 *   thread_id         VARCHAR2, bytes            PRIMARY KEY
 *   thread_no         NUMBER                     grows with the threads that are made; the words go by it
 *   generation        VARCHAR2
 *   tail              NUMBER                     position of the newest record
 *   tail_write_id     VARCHAR2(1024)             its write id: together they name it
 *   head              NUMBER                     position of the checkpoint that stands for the thread
 *   checkpoint_id     VARCHAR2                   of the head
 *   summary           VARCHAR2                   its header, which is JSON; NULL where that is long
 *   metadata          CLOB IS JSON               its metadata; NULL where there is none
 *   unindexed         NUMBER                     1: its metadata is not stored here, because JSON functions may not understand it
 *   members           VARCHAR2                   the numbers that the index of metadata has of it, as a JSON list
 *   updated_at        TIMESTAMP WITH TIME ZONE
 *   expires_at        TIMESTAMP, UTC             NULL: never. Past it, the thread is invisible
 *   words_to          NUMBER                     up to which position the words are indexed: saves do not wait for that
 *   edits             NUMBER                     how often records were replaced or dropped
 *
 * HOLDFAST_RECORDS    one row per record; deleted with its thread
 *   thread_id, seq                               PRIMARY KEY
 *   base, head, write_id (NULL: same as checkpoint_id), checkpoint_id, unindexed, members
 *   names, header, metadata   VARCHAR2           exactly as they were given, names as a JSON list; NULL where they are long
 *   body              RAW                        NULL where it is long
 *   lengthy           NUMBER                     1: the body is long; 2: some text is; 3: both
 *   body_bytes        NUMBER
 *   long_names, long_header, long_metadata CLOB, long_body BLOB
 *
 * HOLDFAST_NAMES      the further names of records, for finding them; deleted with its thread
 *   thread_id, name, seq                         PRIMARY KEY
 *
 * HOLDFAST_MEMBERS    in which threads the newest checkpoint's metadata has a member; deleted with its thread. Written only
 *                     when that metadata changes: sql-log/members.ts
 *   member, thread_id                            PRIMARY KEY
 *
 * HOLDFAST_WORDS      the index of words (sql-log/words-table.ts), a table that is its own index; deleted with its thread. There
 *                     is no row above `words_to`
 *   word, thread_no, seq                         PRIMARY KEY; the word in UTF-8, as RAW
 *   word_count        NUMBER                     of the record
 *
 * A saver of the tableName LOCUS keeps its log in LOCUS_LOG, LOCUS_LOG_RECORDS and so on, so that no checkpointer's
 * table has the name of one of its own, and beside it, for SQL users:
 *
 * LOCUS_CHECKPOINTS   one row per checkpoint; deleted with its thread
 *   thread_id, checkpoint_ns, checkpoint_id      PRIMARY KEY; the namespace of the root graph is one blank: see saver-binds.ts
 *   parent_checkpoint_id, created_at (UTC)
 *   metadata          CLOB IS JSON               as in the row of a thread
 *   seq               NUMBER                     the record that put it
 *
 * LOCUS_WRITES        one row per pending write; deleted with its thread
 *   thread_id, checkpoint_ns, checkpoint_id, task_id, idx    PRIMARY KEY
 *   channel           VARCHAR2                   NULL where a column cannot hold it
 *   seq               NUMBER                     the newest record that has it, and its value
 *
 * HOLDFAST_SCHEMA     the version of each part: parts.ts. All of the above is the part `checkpoints`
 *   part              VARCHAR2                   PRIMARY KEY
 *   version           NUMBER
 *
 * Short values and long ones are in different columns because a query that could return a LOB takes a round trip more,
 * even where every LOB is empty: a client cannot ask for rows and LOBs at once.
 */
export interface TableNames {
  /** As it was given, for messages. */
  readonly tableName: string;
  /** In capitals; `undefined` for the schema of the connected user. */
  readonly owner: string | undefined;
  readonly threads: string;
  readonly records: string;
  readonly names: string;
  readonly members: string;
  readonly words: string;
  readonly version: string;
  /** The tables that a saver has beside its log. */
  readonly saver?: SaverTables;
}

export interface SaverTables {
  readonly checkpoints: string;
  readonly writes: string;
}

export function tableNames(tableName: string): TableNames {
  assertTableName(tableName);
  const { owner, full } = qualified(tableName);
  return { tableName, owner, ...logTables(full) };
}

/** The tables of a saver: its log, and the tables for SQL. */
export function saverTableNames(tableName: string): TableNames {
  assertTableName(tableName);
  const { owner, full } = qualified(tableName);
  const saver = { checkpoints: `${full}_CHECKPOINTS`, writes: `${full}_WRITES` };
  return { tableName, owner, ...logTables(`${full}_LOG`), saver };
}

/** A name as it appears in statements, and the owner in it. */
export function qualified(tableName: string): { readonly owner: string | undefined; readonly full: string } {
  const [table = "", owner] = tableName.toUpperCase().split(".").reverse();
  return { owner, full: owner === undefined ? table : `${owner}.${table}` };
}

const logTables = (
  full: string,
): Pick<TableNames, "threads" | "records" | "names" | "members" | "words" | "version"> => ({
  threads: full,
  records: `${full}_RECORDS`,
  names: `${full}_NAMES`,
  members: `${full}_MEMBERS`,
  words: `${full}_WORDS`,
  version: `${full}_SCHEMA`,
});

/**
 * How many bytes of text, and of a body, are stored in the row itself: every
 * database accepts them, whatever its MAX_STRING_SIZE.
 */
export const SHORT_TEXT_BYTES = 4000;
export const SHORT_BODY_BYTES = 2000;

/** The bits of `lengthy`. */
export const LONG_BODY = 1;
export const LONG_TEXT = 2;
