import type { TableNames } from "./layout.ts";

/**
 * Version 1 of the part `checkpoints`. This text is frozen: it is never edited, and
 * it uses nothing that may change. Any later change is a version of its own. Every
 * statement may run twice: see prepare-tables.ts.
 *
 * INITRANS and PCTFREE leave room for several writers in one data block of threads:
 * without it, the server may report two of them as a deadlock.
 */
export const checkpointsV1 = ({ threads, records, names, members, words }: TableNames): readonly string[] => [
  `CREATE TABLE ${threads} (
  thread_id VARCHAR2(1088 BYTE) NOT NULL PRIMARY KEY,
  thread_no NUMBER(16) GENERATED ALWAYS AS IDENTITY NOT NULL UNIQUE,
  generation VARCHAR2(1024 BYTE) NOT NULL,
  tail NUMBER(16) NOT NULL,
  tail_write_id VARCHAR2(1024 BYTE) NOT NULL,
  head NUMBER(16) NOT NULL,
  checkpoint_id VARCHAR2(1024 BYTE),
  summary VARCHAR2(4000 BYTE),
  metadata CLOB CHECK (metadata IS JSON),
  unindexed NUMBER(1),
  members VARCHAR2(4000 BYTE),
  updated_at TIMESTAMP(3) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
  expires_at TIMESTAMP(3),
  words_to NUMBER(16) DEFAULT 0 NOT NULL,
  edits NUMBER(16) DEFAULT 0 NOT NULL
) PCTFREE 20 INITRANS 8`,
  `CREATE INDEX ${threads}_BY_EXPIRY ON ${threads} (expires_at)`,
  `CREATE INDEX ${threads}_BY_WORDS ON ${threads} (CASE WHEN words_to < tail THEN thread_id END)`,
  `CREATE TABLE ${records} (
  thread_id VARCHAR2(1088 BYTE) NOT NULL REFERENCES ${threads} ON DELETE CASCADE,
  seq NUMBER(16) NOT NULL,
  base NUMBER(16) NOT NULL,
  head NUMBER(16) NOT NULL,
  write_id VARCHAR2(1024 BYTE),
  checkpoint_id VARCHAR2(1024 BYTE),
  names VARCHAR2(4000 BYTE),
  header VARCHAR2(4000 BYTE),
  metadata VARCHAR2(4000 BYTE),
  unindexed NUMBER(1),
  members VARCHAR2(4000 BYTE),
  body RAW(2000),
  lengthy NUMBER(1) NOT NULL,
  body_bytes NUMBER(12) NOT NULL,
  long_names CLOB,
  long_header CLOB,
  long_metadata CLOB,
  long_body BLOB,
  PRIMARY KEY (thread_id, seq)
)`,
  `CREATE INDEX ${records}_BY_CHECKPOINT ON ${records} (thread_id, checkpoint_id, seq)`,
  `CREATE TABLE ${names} (
  thread_id VARCHAR2(1088 BYTE) NOT NULL REFERENCES ${threads} ON DELETE CASCADE,
  name VARCHAR2(1024 BYTE) NOT NULL,
  seq NUMBER(16) NOT NULL,
  PRIMARY KEY (thread_id, name, seq)
)`,
  `CREATE TABLE ${members} (
  member NUMBER(16) NOT NULL,
  thread_id VARCHAR2(1088 BYTE) NOT NULL REFERENCES ${threads} ON DELETE CASCADE,
  PRIMARY KEY (member, thread_id)
)`,
  `CREATE INDEX ${members}_BY_THREAD ON ${members} (thread_id)`,
  `CREATE TABLE ${words} (
  word RAW(512) NOT NULL,
  thread_no NUMBER(16) NOT NULL REFERENCES ${threads} (thread_no) ON DELETE CASCADE,
  seq NUMBER(16) NOT NULL,
  word_count NUMBER(16) NOT NULL,
  PRIMARY KEY (word, thread_no, seq)
) ORGANIZATION INDEX COMPRESS 1`,
  `CREATE INDEX ${words}_BY_RECORD ON ${words} (thread_no, seq)`,
];

/** The columns of each table, to tell it from a table of the same name that another program made. */
export const columnsV1 = ({
  threads,
  records,
  names,
  members,
  words,
}: TableNames): Readonly<Record<string, readonly string[]>> => ({
  [threads]: [
    ...[
      "THREAD_ID",
      "THREAD_NO",
      "GENERATION",
      "TAIL",
      "TAIL_WRITE_ID",
      "HEAD",
      "CHECKPOINT_ID",
      "SUMMARY",
      "METADATA",
      "UNINDEXED",
    ],
    ...["MEMBERS", "UPDATED_AT", "EXPIRES_AT", "WORDS_TO", "EDITS"],
  ],
  [records]: [
    ...["THREAD_ID", "SEQ", "BASE", "HEAD", "WRITE_ID", "CHECKPOINT_ID", "NAMES", "HEADER", "METADATA", "UNINDEXED"],
    ...["MEMBERS", "BODY", "LENGTHY", "BODY_BYTES", "LONG_NAMES", "LONG_HEADER", "LONG_METADATA", "LONG_BODY"],
  ],
  [names]: ["THREAD_ID", "NAME", "SEQ"],
  [members]: ["MEMBER", "THREAD_ID"],
  [words]: ["WORD", "THREAD_NO", "SEQ", "WORD_COUNT"],
});

/** The grants of a user that only works with the tables: what it needs, and nothing more. */
export const grantsV1 = ({ threads, records, names, members, words }: TableNames, role: string): readonly string[] =>
  [threads, records, names, members, words].map(
    (table) => `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}`,
  );
