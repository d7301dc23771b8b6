import { assertTableName } from "./names.ts";

/**
 * Of the tableName HOLDFAST; all names unquoted. `''` is NULL here, so every text that may be empty may be NULL.
 *
 * HOLDFAST            one row a thread: the only row two writers meet on, and what a person finds with SQL
 *   thread_id         VARCHAR2, bytes            PRIMARY KEY
 *   generation        VARCHAR2
 *   tail, head        NUMBER                     positions of the newest record and of the checkpoint that stands for the thread
 *   checkpoint_id     VARCHAR2                   of the head
 *   summary           VARCHAR2                   its header, which is JSON; NULL where that is long
 *   metadata          CLOB IS JSON               its metadata; NULL where there is none
 *   unindexed         NUMBER                     1: it has some that JSON functions may not understand, and no metadata here
 *   updated_at        TIMESTAMP WITH TIME ZONE
 *   expires_at        TIMESTAMP, UTC             NULL: never. Past it, the thread is not there for anybody
 *
 * HOLDFAST_RECORDS    one row a record; goes with its thread
 *   thread_id, seq                               PRIMARY KEY
 *   base, head, write_id (NULL: same as checkpoint_id), checkpoint_id, unindexed
 *   names, header, metadata   VARCHAR2           exactly as they were given, names as a JSON list; NULL where they are long
 *   body              RAW                        NULL where it is long
 *   lengthy           NUMBER                     1: the body is long; 2: some text is; 3: both
 *   body_bytes        NUMBER
 *   long_names, long_header, long_metadata CLOB, long_body BLOB
 *
 * HOLDFAST_NAMES      every name of a record, its checkpoint id included; goes with its thread
 *   thread_id, name, seq                         PRIMARY KEY
 *
 * HOLDFAST_SCHEMA     the version of each part: parts.ts. All of the above is the part `checkpoints`
 *   part              VARCHAR2                   PRIMARY KEY
 *   version           NUMBER
 *
 * Short values and long ones lie in different columns because a query that could return a LOB takes a round trip more,
 * even where every LOB is empty: a client cannot ask for rows and LOBs at once.
 */
export interface TableNames {
  /** As it was given, for messages. */
  readonly tableName: string;
  /** In capitals; `undefined` where it is the schema of whoever is connected. */
  readonly owner: string | undefined;
  readonly threads: string;
  readonly records: string;
  readonly names: string;
  readonly version: string;
}

export function tableNames(tableName: string): TableNames {
  assertTableName(tableName);
  const [table = "", owner] = tableName.toUpperCase().split(".").reverse();
  const full = owner === undefined ? table : `${owner}.${table}`;
  return {
    tableName,
    owner,
    threads: full,
    records: `${full}_RECORDS`,
    names: `${full}_NAMES`,
    version: `${full}_SCHEMA`,
  };
}

/** Bytes of text and of a body that lie in the row itself: what every database takes, whatever its MAX_STRING_SIZE. */
export const SHORT_TEXT_BYTES = 4000;
export const SHORT_BODY_BYTES = 2000;

/** What `lengthy` is made of. */
export const LONG_BODY = 1;
export const LONG_TEXT = 2;
