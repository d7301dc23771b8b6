CREATE TABLE holdfast_items (
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
) STRICT;

CREATE INDEX holdfast_items_by_end ON holdfast_items (expires_at) WHERE expires_at IS NOT NULL;

CREATE VIRTUAL TABLE holdfast_item_words USING fts5 (
  text, label, before, after, detail = column, tokenize = "ascii tokenchars '_'"
);

INSERT INTO holdfast_item_words (holdfast_item_words, rank) VALUES ('secure-delete', 1);

CREATE TABLE holdfast_item_vectors (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  item INTEGER NOT NULL UNIQUE,
  dims INTEGER NOT NULL,
  vector BLOB NOT NULL
) STRICT;

CREATE TABLE holdfast_item_puts (vector INTEGER PRIMARY KEY, version TEXT NOT NULL) STRICT;

CREATE TABLE holdfast_item_writes (
  write_key TEXT NOT NULL PRIMARY KEY,
  digest TEXT NOT NULL,
  version TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX holdfast_item_writes_by_time ON holdfast_item_writes (updated_at);
