CREATE TABLE holdfast_threads (
  thread_id TEXT PRIMARY KEY,
  thread_no INTEGER NOT NULL,
  generation TEXT NOT NULL,
  tail INTEGER NOT NULL,
  tail_write_id TEXT NOT NULL,
  head INTEGER NOT NULL,
  indexed INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  sum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX holdfast_threads_by_number ON holdfast_threads (thread_no);

CREATE INDEX holdfast_threads_stale ON holdfast_threads (thread_no) WHERE stale = 1;

CREATE TABLE holdfast_records (
  id INTEGER PRIMARY KEY,
  base INTEGER NOT NULL,
  head INTEGER NOT NULL,
  write_id TEXT,
  checkpoint_id TEXT,
  is_hinted INTEGER NOT NULL,
  names TEXT,
  header TEXT NOT NULL,
  metadata TEXT,
  sum INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;

CREATE INDEX holdfast_records_by_checkpoint ON holdfast_records (checkpoint_id) WHERE checkpoint_id IS NOT NULL AND is_hinted = 0;

CREATE VIEW holdfast_appends (
  thread_no, thread_id, generation, tail, tail_write_id, head, indexed, sum, old_write_id, old_head, old_sum,
  id, base, write_id, checkpoint_id, is_hinted, names, header, metadata, record_sum, body
) AS SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL;

CREATE TRIGGER holdfast_appends_insert INSTEAD OF INSERT ON holdfast_appends BEGIN
  UPDATE holdfast_threads SET tail = NEW.tail, tail_write_id = NEW.tail_write_id, head = NEW.head, sum = NEW.sum
  WHERE thread_id = NEW.thread_id AND +thread_no = NEW.thread_no AND generation = NEW.generation
    AND tail = NEW.tail - 1 AND tail_write_id = NEW.old_write_id AND head = NEW.old_head AND indexed = NEW.indexed AND stale = 1 AND sum = NEW.old_sum;
  SELECT RAISE(ABORT, 'holdfast: the thread is not as it was') WHERE changes() = 0;
  INSERT INTO holdfast_records (id, base, head, write_id, checkpoint_id, is_hinted, names, header, metadata, sum, body)
  VALUES (NEW.id, NEW.base, NEW.head, NEW.write_id, NEW.checkpoint_id, NEW.is_hinted, NEW.names, NEW.header,
    NEW.metadata, NEW.record_sum, NEW.body);
END;

CREATE TABLE holdfast_names (id INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (id, name)) STRICT, WITHOUT ROWID;

CREATE INDEX holdfast_names_by_name ON holdfast_names (name, id);

CREATE TABLE holdfast_members (
  member INTEGER NOT NULL,
  thread_id TEXT NOT NULL,
  PRIMARY KEY (member, thread_id)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE holdfast_words USING fts5 (
  words, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '_'"
);

INSERT INTO holdfast_words (holdfast_words, rank) VALUES ('secure-delete', 1);

CREATE VIRTUAL TABLE holdfast_terms USING fts5vocab (holdfast_words, instance);

CREATE TABLE holdfast_indexed (id INTEGER PRIMARY KEY, sum INTEGER NOT NULL) STRICT;
