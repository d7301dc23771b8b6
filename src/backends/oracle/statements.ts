import type { SqlDialect } from "../../checkpoint/sql-log/dialect.ts";
import type { WordsDialect } from "../../checkpoint/sql-log/words-table.ts";
import type { SaverTables, TableNames } from "./layout.ts";
import { entryColumns } from "./rows.ts";
import { ALIVE, NOW } from "./sql-clock.ts";

/** The milliseconds of an interval. */
const msOf = (
  interval: string,
): string => `EXTRACT(DAY FROM (${interval})) * 86400000 + EXTRACT(HOUR FROM (${interval})) * 3600000
        + EXTRACT(MINUTE FROM (${interval})) * 60000 + EXTRACT(SECOND FROM (${interval})) * 1000`;

/** The expression of the index <threads>_BY_WORDS: only threads with something to index are in it. */
const STALE_ID = "CASE WHEN t.words_to < t.tail THEN t.thread_id END";

/** How Oracle writes the shared reads: with the columns of long values, or without. */
export const dialect = (isLong: boolean): SqlDialect & WordsDialect => ({
  statement: (text) => ({ text: text.replace(/(?<![:\w]):([a-z]\w*)/g, ":b_$1"), names: [] }),
  page: (name) => `FETCH FIRST :${name} ROWS ONLY`,
  now: NOW,
  ttlMs: msOf(`t.expires_at - ${NOW}`),
  clock: `SELECT ${msOf(`${NOW} - TIMESTAMP '1970-01-01 00:00:00'`)} AS now FROM dual`,
  entry: (table) => entryColumns(table, isLong),
  body: (table, wanted) =>
    (isLong ? ["body", "long_body"] : ["body"])
      .map((name) =>
        wanted === undefined ? `${table}.${name}` : `CASE WHEN ${wanted} THEN ${table}.${name} END AS ${name}`,
      )
      .join(", "),
  bytesOf: (table) => `${table}.body_bytes`,
  stale: `${STALE_ID} > :after`,
  progress: "t.words_to AS indexed, t.edits",
  fromHex: (text) => `HEXTORAW(${text})`,
  jsonWords: (list) =>
    `JSON_TABLE(${list}, '$[*]' COLUMNS (low VARCHAR2(1024 BYTE) PATH '$[0]', high VARCHAR2(1026 BYTE) PATH '$[1]'))`,
  jsonRecords: (list) => `JSON_TABLE(${list}, '$[*]' COLUMNS (seq NUMBER PATH '$[0]', word_count NUMBER PATH '$[1]',
    NESTED PATH '$[2][*]' COLUMNS (word VARCHAR2(1024 BYTE) PATH '$')))`,
});

/** How many lists of words one search has, and how long each is: what a value in a query may be in every database. */
export const WORD_LISTS: { readonly listCounts: readonly number[]; readonly listCharacters: number } = {
  listCounts: [0, 1, 4, 16],
  listCharacters: 4000,
};

/** The texts of all changes but appends, for one set of tables. */
export interface Statements {
  readonly remove: string;
  readonly removeExpired: string;
  readonly sweep: string;
  readonly copy: string;
  /** Stores this many lists of words. */
  readonly index: (lists: number) => string;
}

/** Copies the rows of a saver with a thread. */
const copyGraph = ({ checkpoints, writes }: SaverTables): string =>
  [
    [checkpoints, "checkpoint_ns, checkpoint_id, parent_checkpoint_id, created_at, metadata, seq"],
    [writes, "checkpoint_ns, checkpoint_id, task_id, idx, channel, seq"],
  ]
    .map(
      ([table, columns]) => `
  INSERT INTO ${table} (thread_id, ${columns})
  SELECT v_target, ${columns} FROM ${table} WHERE thread_id = v_source;`,
    )
    .join("");

const COPIED = [
  ...[
    "seq",
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
].join(", ");

export function statements({ threads, records, names, members, words, saver }: TableNames): Statements {
  return {
    remove: `DECLARE
  v_thread VARCHAR2(1088 BYTE) := :b_thread;
  v_generation VARCHAR2(1024 BYTE) := :b_generation;
  v_seq NUMBER := :b_seq;
  v_write_id VARCHAR2(1024 BYTE) := :b_write_id;
  v_found NUMBER;
  v_gone NUMBER;
BEGIN
  SELECT COUNT(*) INTO v_found FROM ${threads} WHERE thread_id = v_thread AND ${ALIVE};
  DELETE FROM ${threads} WHERE thread_id = v_thread
    AND (v_generation IS NULL OR (generation = v_generation AND tail = v_seq AND tail_write_id = v_write_id));
  v_gone := SQL%ROWCOUNT;
  :b_found := v_found;
  :b_gone := v_gone;
END;`,

    removeExpired: `DELETE FROM ${threads} WHERE thread_id = :b_thread AND expires_at <= ${NOW}`,

    sweep: `BEGIN
  FOR expired IN (SELECT thread_id FROM ${threads} WHERE expires_at <= ${NOW} AND ROWNUM <= 100 FOR UPDATE SKIP LOCKED) LOOP
    DELETE FROM ${threads} WHERE thread_id = expired.thread_id;
  END LOOP;
END;`,

    copy: `DECLARE
  v_source VARCHAR2(1088 BYTE) := :b_source;
  v_target VARCHAR2(1088 BYTE) := :b_target;
  v_generation VARCHAR2(1024 BYTE) := :b_generation;
  v_tail NUMBER;
  v_tail_write_id VARCHAR2(1024 BYTE);
  v_head NUMBER;
  v_checkpoint_id VARCHAR2(1024 BYTE);
  v_summary VARCHAR2(4000 BYTE);
  v_metadata CLOB;
  v_unindexed NUMBER;
  v_members VARCHAR2(4000 BYTE);
  v_expires TIMESTAMP(3);
BEGIN
  :b_outcome := 0;
  BEGIN
    SELECT tail, tail_write_id, head, checkpoint_id, summary, metadata, unindexed, members, expires_at
    INTO v_tail, v_tail_write_id, v_head, v_checkpoint_id, v_summary, v_metadata, v_unindexed, v_members, v_expires
    FROM ${threads} WHERE thread_id = v_source AND ${ALIVE}
    FOR UPDATE;
  EXCEPTION
    WHEN NO_DATA_FOUND THEN
      RETURN;
  END;
  BEGIN
    INSERT INTO ${threads} (thread_id, generation, tail, tail_write_id, head, checkpoint_id, summary, metadata, unindexed,
      members, updated_at, expires_at)
    VALUES (v_target, v_generation, v_tail, v_tail_write_id, v_head, v_checkpoint_id, v_summary, v_metadata, v_unindexed,
      v_members, SYSTIMESTAMP, v_expires);
  EXCEPTION
    WHEN DUP_VAL_ON_INDEX THEN
      :b_outcome := 1;
      RETURN;
  END;
  INSERT INTO ${records} (thread_id, ${COPIED})
  SELECT v_target, ${COPIED} FROM ${records} WHERE thread_id = v_source;
  INSERT INTO ${names} (thread_id, name, seq)
  SELECT v_target, name, seq FROM ${names} WHERE thread_id = v_source;
  INSERT INTO ${members} (member, thread_id)
  SELECT member, v_target FROM ${members} WHERE thread_id = v_source;${saver === undefined ? "" : copyGraph(saver)}
  :b_outcome := 2;
END;`,

    // Only if the thread is indexed exactly as far as it was when they were found, and no record was replaced or dropped
    // since: what was erased meanwhile must not come back. Never waits long for a lock.
    index: (lists) => `DECLARE
  v_thread VARCHAR2(1088 BYTE) := :b_thread;
  v_generation VARCHAR2(1024 BYTE) := :b_generation;
  v_from NUMBER := :b_from;
  v_to NUMBER := :b_to;
  v_edits NUMBER := :b_edits;
  v_tail NUMBER;
  v_thread_no NUMBER;
${lists === 0 ? "" : "  v_found CLOB;\n"}BEGIN
  :b_indexed := 0;
  BEGIN
    SELECT tail, thread_no INTO v_tail, v_thread_no FROM ${threads}
    WHERE thread_id = v_thread AND generation = v_generation AND words_to = v_from AND edits = v_edits
    FOR UPDATE WAIT 2;
  EXCEPTION
    WHEN NO_DATA_FOUND THEN
      RETURN;
  END;
  UPDATE ${threads} SET words_to = v_to WHERE thread_id = v_thread;
${Array.from({ length: lists }, (_, at) => insertWords(words, at + 1)).join("")}  :b_indexed := 1;
END;`,
  };
}

const insertWords = (words: string, place: number): string => `  v_found := :b_found_${place};
  INSERT INTO ${words} (word, thread_no, seq, word_count)
  SELECT HEXTORAW(j.word), v_thread_no, j.seq, j.word_count FROM ${dialect(false).jsonRecords("v_found")} j;
`;
