import type { TableNames } from "./layout.ts";

/**
 * Version 1 of the part `checkpoints`. This text is frozen: it is never edited, and
 * it uses nothing that may change. Any later change is a version of its own.
 */
export const checkpointsV1 = ({
  threads,
  records,
  appends,
  names,
  members,
  words,
  terms,
  indexed,
}: TableNames): readonly string[] => [
  `CREATE TABLE ${threads} (
  thread_id TEXT PRIMARY KEY,
  thread_no INTEGER NOT NULL,
  generation TEXT NOT NULL,
  tail INTEGER NOT NULL,
  tail_write_id TEXT NOT NULL,
  head INTEGER NOT NULL,
  indexed INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  sum INTEGER NOT NULL
) STRICT, WITHOUT ROWID`,
  // Not as a constraint of the table: of such an index SQLite does not know that it has the ids, and reads the row.
  `CREATE UNIQUE INDEX ${threads}_by_number ON ${threads} (thread_no)`,
  `CREATE INDEX ${threads}_stale ON ${threads} (thread_no) WHERE stale = 1`,
  `CREATE TABLE ${records} (
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
) STRICT`,
  `CREATE INDEX ${records}_by_checkpoint ON ${records} (checkpoint_id) WHERE checkpoint_id IS NOT NULL AND is_hinted = 0`,
  `CREATE VIEW ${appends} (
  thread_no, thread_id, generation, tail, tail_write_id, head, indexed, sum, old_write_id, old_head, old_sum,
  id, base, write_id, checkpoint_id, is_hinted, names, header, metadata, record_sum, body
) AS SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL`,
  // The `+` keeps the planner from going through the index of numbers: the row is found by its id.
  `CREATE TRIGGER ${appends}_insert INSTEAD OF INSERT ON ${appends} BEGIN
  UPDATE ${threads} SET tail = NEW.tail, tail_write_id = NEW.tail_write_id, head = NEW.head, sum = NEW.sum
  WHERE thread_id = NEW.thread_id AND +thread_no = NEW.thread_no AND generation = NEW.generation
    AND tail = NEW.tail - 1 AND tail_write_id = NEW.old_write_id AND head = NEW.old_head AND indexed = NEW.indexed AND stale = 1 AND sum = NEW.old_sum;
  SELECT RAISE(ABORT, 'holdfast: the thread is not as it was') WHERE changes() = 0;
  INSERT INTO ${records} (id, base, head, write_id, checkpoint_id, is_hinted, names, header, metadata, sum, body)
  VALUES (NEW.id, NEW.base, NEW.head, NEW.write_id, NEW.checkpoint_id, NEW.is_hinted, NEW.names, NEW.header,
    NEW.metadata, NEW.record_sum, NEW.body);
END`,
  `CREATE TABLE ${names} (id INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (id, name)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX ${names}_by_name ON ${names} (name, id)`,
  `CREATE TABLE ${members} (
  member INTEGER NOT NULL,
  thread_id TEXT NOT NULL,
  PRIMARY KEY (member, thread_id)
) STRICT, WITHOUT ROWID`,
  `CREATE VIRTUAL TABLE ${words} USING fts5 (
  words, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '_'"
)`,
  `INSERT INTO ${words} (${words}, rank) VALUES ('secure-delete', 1)`,
  `CREATE VIRTUAL TABLE ${terms} USING fts5vocab (${words}, instance)`,
  `CREATE TABLE ${indexed} (id INTEGER PRIMARY KEY, sum INTEGER NOT NULL) STRICT`,
];
