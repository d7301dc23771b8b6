import type { TableNames } from "./layout.ts";

/**
 * Version 1 of the part `store`. This text is frozen: it is never edited, and it
 * uses nothing that may change. Any later change is a version of its own.
 */
export const storeV1 = ({ items, itemWords, itemVectors, itemPuts, itemWrites }: TableNames): readonly string[] => [
  `CREATE TABLE ${items} (
  id INTEGER PRIMARY KEY,
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  version TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  value TEXT NOT NULL,
  metadata TEXT,
  value_fields TEXT,
  metadata_fields TEXT,
  UNIQUE (namespace, key)
) STRICT`,
  `CREATE INDEX ${items}_by_end ON ${items} (expires_at) WHERE expires_at IS NOT NULL`,
  `CREATE VIRTUAL TABLE ${itemWords} USING fts5 (
  text, label, before, after, detail = column, tokenize = "ascii tokenchars '_'"
)`,
  `INSERT INTO ${itemWords} (${itemWords}, rank) VALUES ('secure-delete', 1)`,
  `CREATE TABLE ${itemVectors} (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  item INTEGER NOT NULL UNIQUE,
  dims INTEGER NOT NULL,
  vector BLOB NOT NULL
) STRICT`,
  `CREATE TABLE ${itemPuts} (vector INTEGER PRIMARY KEY, version TEXT NOT NULL) STRICT`,
  `CREATE TABLE ${itemWrites} (
  write_key TEXT NOT NULL PRIMARY KEY,
  digest TEXT NOT NULL,
  version TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT, WITHOUT ROWID`,
  `CREATE INDEX ${itemWrites}_by_time ON ${itemWrites} (updated_at)`,
];
