CREATE TABLE holdfast_threads (
  thread_no INTEGER PRIMARY KEY,
  thread_id TEXT NOT NULL UNIQUE,
  generation TEXT NOT NULL,
  tail INTEGER NOT NULL,
  head INTEGER NOT NULL,
  indexed INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  sum INTEGER NOT NULL
) STRICT;

CREATE INDEX holdfast_threads_stale ON holdfast_threads (thread_no) WHERE stale = 1;

CREATE TABLE holdfast_records (
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
) STRICT;

CREATE INDEX holdfast_records_by_checkpoint ON holdfast_records (checkpoint_id) WHERE checkpoint_id IS NOT NULL;

CREATE TABLE holdfast_names (id INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (id, name)) STRICT, WITHOUT ROWID;

CREATE INDEX holdfast_names_by_name ON holdfast_names (name, id);

CREATE VIRTUAL TABLE holdfast_words USING fts5 (
  words, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '_'"
);

INSERT INTO holdfast_words (holdfast_words, rank) VALUES ('secure-delete', 1);

CREATE VIRTUAL TABLE holdfast_terms USING fts5vocab (holdfast_words, instance);

CREATE TABLE holdfast_indexed (id INTEGER PRIMARY KEY, sum INTEGER NOT NULL) STRICT;
