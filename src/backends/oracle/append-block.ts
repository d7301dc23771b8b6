import type { TableNames } from "./layout.ts";
import { forgetRecord, keepGraph, SAVER_VARIABLES } from "./saver-block.ts";
import { ALIVE, NOW } from "./sql-clock.ts";

/** Everything that one block of an append does. The same shape gives the same text, which the server parses once. */
export interface AppendShape {
  /** How many records replace others, and how many are new. */
  readonly replaced: number;
  readonly added: number;
  /** Whether records are removed. */
  readonly drops: boolean;
  /** Whether any record has names beside its checkpoint id. */
  readonly named: boolean;
  /** Whether the head is among these records: then its summary comes with them, else it is copied from the head's row. */
  readonly ownHead: boolean;
  /** Only further records of an append that an earlier block of the same transaction began. */
  readonly continues: boolean;
}

/** The error number of the block if there is nothing to replace. The server rolls back all of it. */
export const NOTHING_TO_REPLACE = 20_001;

/**
 * An append as one anonymous block: one call, atomic by itself, and it needs only
 * plain privileges on the tables. The thread's row is written first: the transaction
 * that holds it has the thread to itself until the commit, which the client requests
 * with the same call. Values go through variables: inside a statement a bind has the
 * type that the client gave it, and one over 4000 bytes that is not assigned to a
 * LOB directly is ORA-01461.
 */
export function appendBlock(names: TableNames, shape: AppendShape): string {
  const edits = [...(shape.drops ? [drop(names)] : []), ...(isEdit(shape) ? [edit(names)] : [])];
  const begin = shape.continues ? [] : [claim(names, shape), ...edits];
  const places = Array.from({ length: shape.replaced + shape.added }, (_, place) => place + 1);
  const writes = places.map((place) =>
    place <= shape.replaced ? replace(names, place, shape.named) : add(names, place, shape.named),
  );
  return `DECLARE
  v_thread VARCHAR2(1088 BYTE) := :b_thread;
${shape.continues ? "" : claimVariables(shape, isEdit(shape))}${places.length === 0 ? "" : RECORD_VARIABLES}${places.length === 0 || names.saver === undefined ? "" : SAVER_VARIABLES}BEGIN
${[...(shape.continues ? [] : ["  :b_appended := 0;"]), ...begin, ...writes].join("\n")}
${shape.continues ? "" : "  :b_appended := 1;\n"}END;`;
}

/** Replacements come first, so the first block of an append has some if the append has any. */
const isEdit = ({ drops, replaced }: AppendShape): boolean => drops || replaced > 0;

const claimVariables = (
  { drops, ownHead }: AppendShape,
  edits: boolean,
): string => `  v_generation VARCHAR2(1024 BYTE) := :b_generation;
  v_expected NUMBER := :b_expected;
  v_expected_write VARCHAR2(1024 BYTE) := :b_expected_write;
  v_tail NUMBER := :b_tail;
  v_tail_write_id VARCHAR2(1024 BYTE) := :b_tail_write_id;
  v_thread_head NUMBER := :b_head;
  v_expires TIMESTAMP(3) := ${NOW} + NUMTODSINTERVAL(:b_ttl_seconds, 'SECOND');
  v_head_id VARCHAR2(1024 BYTE)${ownHead ? " := :b_checkpoint_id" : ""};
  v_summary VARCHAR2(4000 BYTE)${ownHead ? " := :b_summary" : ""};
  v_head_metadata CLOB${ownHead ? " := :b_metadata" : ""};
  v_head_unindexed NUMBER${ownHead ? " := :b_unindexed" : ""};
  v_head_members VARCHAR2(4000 BYTE)${ownHead ? " := :b_members" : ""};
${ownHead ? "" : "  v_old_head NUMBER;\n  v_short_metadata VARCHAR2(4000 BYTE);\n"}${drops ? "  v_below NUMBER := :b_below;\n  v_dropped CLOB := :b_dropped;\n" : ""}${edits ? "  v_words_to NUMBER := :b_words_to;\n" : ""}`;

const RECORD_VARIABLES = `  v_seq NUMBER;
  v_base NUMBER;
  v_head NUMBER;
  v_write_id VARCHAR2(1024 BYTE);
  v_checkpoint_id VARCHAR2(1024 BYTE);
  v_names VARCHAR2(4000 BYTE);
  v_header VARCHAR2(4000 BYTE);
  v_metadata VARCHAR2(4000 BYTE);
  v_unindexed NUMBER;
  v_members VARCHAR2(4000 BYTE);
  v_body RAW(2000);
  v_lengthy NUMBER;
  v_body_bytes NUMBER;
  v_long_names CLOB;
  v_long_header CLOB;
  v_long_metadata CLOB;
  v_long_body BLOB;
`;

/** The columns of a record after its key. */
const COLUMNS = [
  ...[
    "base",
    "head",
    "write_id",
    "checkpoint_id",
    "names",
    "header",
    "metadata",
    "unindexed",
    "members",
    "body",
    "lengthy",
  ],
  ...["body_bytes", "long_names", "long_header", "long_metadata", "long_body"],
];

/** Matches the row that an append builds on. */
const UNCHANGED = `thread_id = v_thread AND generation = v_generation AND tail = v_expected
      AND tail_write_id = v_expected_write AND ${ALIVE}`;

const claim = ({ threads, records, members }: TableNames, { ownHead }: AppendShape): string => `  IF v_expected = 0 THEN
    BEGIN
      INSERT INTO ${threads} (thread_id, generation, tail, tail_write_id, head, checkpoint_id, summary, metadata, unindexed, updated_at,
        expires_at)
      VALUES (v_thread, v_generation, v_tail, v_tail_write_id, v_thread_head, v_head_id, v_summary, v_head_metadata,
        v_head_unindexed, SYSTIMESTAMP, v_expires);
    EXCEPTION
      WHEN DUP_VAL_ON_INDEX THEN
        RETURN;
    END;
  ELSE
${ownHead ? claimWithHead(threads) : claimBehindHead(threads, records, members)}
  END IF;${
    ownHead
      ? `
${moveMembers(threads, members)}`
      : ""
  }`;

const claimWithHead = (threads: string): string => `    UPDATE ${threads}
    SET tail = v_tail, tail_write_id = v_tail_write_id, head = v_thread_head, checkpoint_id = v_head_id, summary = v_summary, metadata = v_head_metadata,
      unindexed = v_head_unindexed, updated_at = SYSTIMESTAMP, expires_at = COALESCE(v_expires, expires_at)
    WHERE ${UNCHANGED};
    IF SQL%ROWCOUNT = 0 THEN
      RETURN;
    END IF;`;

/** The index of metadata, where that of the head is another one now. */
const moveMembers = (threads: string, members: string): string => `  UPDATE ${threads} SET members = v_head_members
  WHERE thread_id = v_thread AND (members <> v_head_members OR (members IS NULL AND v_head_members IS NOT NULL)
    OR (members IS NOT NULL AND v_head_members IS NULL));
  IF SQL%ROWCOUNT > 0 THEN
    DELETE FROM ${members} WHERE thread_id = v_thread;
    INSERT INTO ${members} (member, thread_id)
    SELECT d.seq, v_thread FROM JSON_TABLE(v_head_members, '$[*]' COLUMNS (seq NUMBER PATH '$')) d;
  END IF;`;

const claimBehindHead = (threads: string, records: string, members: string): string => `    BEGIN
      SELECT head INTO v_old_head FROM ${threads}
      WHERE ${UNCHANGED}
      FOR UPDATE;
    EXCEPTION
      WHEN NO_DATA_FOUND THEN
        RETURN;
    END;
    UPDATE ${threads}
    SET tail = v_tail, tail_write_id = v_tail_write_id, head = v_thread_head, updated_at = SYSTIMESTAMP, expires_at = COALESCE(v_expires, expires_at)
    WHERE thread_id = v_thread;
    IF v_old_head <> v_thread_head THEN
      BEGIN
        SELECT checkpoint_id, header, metadata, long_metadata, unindexed, members
        INTO v_head_id, v_summary, v_short_metadata, v_head_metadata, v_head_unindexed, v_head_members
        FROM ${records} WHERE thread_id = v_thread AND seq = v_thread_head;
      EXCEPTION
        WHEN NO_DATA_FOUND THEN
          v_head_unindexed := NULL;
      END;
      IF v_head_metadata IS NULL THEN
        v_head_metadata := v_short_metadata;
      END IF;
      IF v_head_unindexed = 1 THEN
        v_head_metadata := NULL;
      END IF;
      UPDATE ${threads}
      SET checkpoint_id = v_head_id, summary = v_summary, metadata = v_head_metadata, unindexed = v_head_unindexed
      WHERE thread_id = v_thread;
${moveMembers(threads, members)}
    END IF;`;

/** The words of replaced records go at once, and those after them; the next search indexes them again. */
const edit = ({ threads, words }: TableNames): string => `  UPDATE ${threads}
  SET edits = edits + 1, words_to = LEAST(words_to, COALESCE(v_words_to, words_to))
  WHERE thread_id = v_thread;
  DELETE FROM ${words} WHERE ${itsNumber(threads)} AND seq > v_words_to;`;

/** Of rows of words: those of the thread. */
const itsNumber = (threads: string): string =>
  `thread_no = (SELECT t.thread_no FROM ${threads} t WHERE t.thread_id = v_thread)`;

const drop = ({ threads, records, names, words, saver }: TableNames): string =>
  [records, names, words, ...(saver === undefined ? [] : [saver.checkpoints, saver.writes])]
    .map(
      (table) => `  DELETE FROM ${table} WHERE ${table === words ? itsNumber(threads) : "thread_id = v_thread"}
    AND (seq < v_below OR seq IN (SELECT d.seq FROM JSON_TABLE(v_dropped, '$[*]' COLUMNS (seq NUMBER PATH '$')) d));`,
    )
    .join("\n");

const assign = (place: number): string =>
  ["seq", ...COLUMNS].map((column) => `  v_${column} := :b_${column}_${place};`).join("\n");

const replace = (names: TableNames, place: number, named: boolean): string => `${assign(place)}
  UPDATE ${names.records} SET ${COLUMNS.map((column) => `${column} = v_${column}`).join(", ")}
  WHERE thread_id = v_thread AND seq = v_seq;
  IF SQL%ROWCOUNT = 0 THEN
    RAISE_APPLICATION_ERROR(-${NOTHING_TO_REPLACE}, 'a record that is to be replaced is not there');
  END IF;
  DELETE FROM ${names.names} WHERE thread_id = v_thread AND seq = v_seq;
${keepNames(names.names, named)}${names.saver === undefined ? "" : `\n${forgetRecord(names.saver)}\n${keepGraph(names.saver, place)}`}`;

const add = (names: TableNames, place: number, named: boolean): string => `${assign(place)}
  INSERT INTO ${names.records} (thread_id, seq, ${COLUMNS.join(", ")})
  VALUES (v_thread, v_seq, ${COLUMNS.map((column) => `v_${column}`).join(", ")});
${keepNames(names.names, named)}${names.saver === undefined ? "" : `\n${keepGraph(names.saver, place)}`}`;

const keepNames = (table: string, named: boolean): string =>
  !named
    ? ""
    : `  IF v_names IS NOT NULL THEN
    v_long_names := v_names;
  END IF;
  IF v_long_names IS NOT NULL THEN
    INSERT INTO ${table} (thread_id, name, seq)
    SELECT v_thread, n.name, v_seq FROM JSON_TABLE(v_long_names, '$[*]' COLUMNS (name VARCHAR2(1024 BYTE) PATH '$')) n;
  END IF;`;
