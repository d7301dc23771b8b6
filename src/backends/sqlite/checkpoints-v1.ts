import type { TableNames } from "./layout.ts";

/**
 * Version 1 of the part `checkpoints`. This text is frozen: it is never edited, and
 * it uses nothing that may change. Any later change is a version of its own.
 */
export const checkpointsV1 = ({ threads, records, names, words, terms, indexed }: TableNames): readonly string[] => [
  `CREATE TABLE ${threads} (
  thread_no INTEGER PRIMARY KEY,
  thread_id TEXT NOT NULL UNIQUE,
  generation TEXT NOT NULL,
  tail INTEGER NOT NULL,
  head INTEGER NOT NULL,
  indexed INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  sum INTEGER NOT NULL
) STRICT`,
  `CREATE INDEX ${threads}_stale ON ${threads} (thread_no) WHERE stale = 1`,
  `CREATE TABLE ${records} (
  id INTEGER PRIMARY KEY,
  base INTEGER NOT NULL,
  head INTEGER NOT NULL,
  write_id TEXT,
  checkpoint_id TEXT,
  names TEXT,
  header TEXT NOT NULL,
  metadata TEXT,
  sum INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT`,
  `CREATE INDEX ${records}_by_checkpoint ON ${records} (checkpoint_id) WHERE checkpoint_id IS NOT NULL`,
  `CREATE TABLE ${names} (id INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (id, name)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX ${names}_by_name ON ${names} (name, id)`,
  `CREATE VIRTUAL TABLE ${words} USING fts5 (
  words, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '_'"
)`,
  `INSERT INTO ${words} (${words}, rank) VALUES ('secure-delete', 1)`,
  `CREATE VIRTUAL TABLE ${terms} USING fts5vocab (${words}, instance)`,
  `CREATE TABLE ${indexed} (id INTEGER PRIMARY KEY, sum INTEGER NOT NULL) STRICT`,
];
