import { StateError } from "../../errors.ts";
import type { SqliteDatabase } from "./connect.ts";

/**
 * <prefix>threads   one row a thread: the only row two writers meet on
 *   thread_no  INTEGER PRIMARY KEY
 *   thread_id  TEXT UNIQUE
 *   generation TEXT
 *   tail, head INTEGER              positions of the newest record and of the newest checkpoint
 *   indexed    INTEGER              up to which position the words are indexed: saves do not wait for that
 *
 * <prefix>records   one row a record, clustered by thread and position
 *   id         INTEGER PRIMARY KEY  = thread_no * 2^26 + seq: one range is one thread, without a second index
 *   base, head, write_id (NULL: same as checkpoint_id), checkpoint_id, header, metadata
 *   body       BLOB                 last, so that listing does not read it
 *
 * <prefix>words     FTS5, rowid = records.id. Contentless: it holds the index and no copy of the text
 *
 * <prefix>schema    the version of all this
 */
export const SCHEMA_VERSION = 1;

/** 67 million records a thread, 134 million threads: both fit a JavaScript number together. */
export const ROWS_PER_THREAD: number = 2 ** 26;

export interface TableNames {
  readonly threads: string;
  readonly records: string;
  readonly words: string;
  readonly schema: string;
}

export function tableNames(prefix: string): TableNames {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(prefix)) {
    throw new StateError("INVALID_ARGUMENT", "tablePrefix must be letters, digits and underscores, at most 63 of them");
  }
  return {
    threads: `${prefix}threads`,
    records: `${prefix}records`,
    words: `${prefix}words`,
    schema: `${prefix}schema`,
  };
}

/** The statements that make the tables: for reading, and for a deployment that makes them itself. */
export function ddl({ threads, records, words, schema }: TableNames): readonly string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${schema} (version INTEGER NOT NULL) STRICT`,
    `CREATE TABLE IF NOT EXISTS ${threads} (
       thread_no INTEGER PRIMARY KEY,
       thread_id TEXT NOT NULL UNIQUE,
       generation TEXT NOT NULL,
       tail INTEGER NOT NULL,
       head INTEGER NOT NULL,
       indexed INTEGER NOT NULL DEFAULT 0
     ) STRICT`,
    `CREATE INDEX IF NOT EXISTS ${threads}_to_index ON ${threads} (thread_no) WHERE indexed < tail`,
    `CREATE TABLE IF NOT EXISTS ${records} (
       id INTEGER PRIMARY KEY,
       base INTEGER NOT NULL,
       head INTEGER NOT NULL,
       write_id TEXT,
       checkpoint_id TEXT,
       header TEXT NOT NULL,
       metadata TEXT,
       body BLOB NOT NULL
     ) STRICT`,
    `CREATE INDEX IF NOT EXISTS ${records}_by_checkpoint ON ${records} (checkpoint_id) WHERE checkpoint_id IS NOT NULL`,
    `CREATE VIRTUAL TABLE IF NOT EXISTS ${words} USING fts5 (
       words, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'"
     )`,
    `INSERT INTO ${schema} (version) SELECT ${SCHEMA_VERSION} WHERE NOT EXISTS (SELECT 1 FROM ${schema})`,
  ];
}

/** Makes the tables on first use, in one transaction; refuses those of a newer holdfast. */
export function prepareTables(database: SqliteDatabase, names: TableNames): void {
  const known = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(names.schema);
  if (known === undefined) {
    database.exec("BEGIN IMMEDIATE");
    try {
      for (const statement of ddl(names)) database.exec(statement);
      database.exec("COMMIT");
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  }
  const { version } = database.prepare(`SELECT version FROM ${names.schema}`).get() as { version: number };
  if (version > SCHEMA_VERSION) {
    throw new StateError(
      "INCOMPATIBLE",
      `the tables have version ${version}; this build knows up to ${SCHEMA_VERSION}. Upgrade holdfast to open them`,
    );
  }
}
