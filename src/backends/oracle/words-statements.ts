import type { TableNames } from "./layout.ts";
import { entryColumns } from "./rows.ts";
import { ALIVE, aliveIn } from "./sql-clock.ts";
import type { Reading } from "./statements.ts";

/** The statements of the word index, apart from those of threads: only a schema with a text index uses them. */
export interface WordsStatements {
  /** Threads with records that are not indexed yet, after an id. */
  readonly stale: string;
  readonly lastStale: string;
  /** How far a thread is indexed. */
  readonly progress: string;
  readonly unindexed: Reading;
  /** For so many queries. */
  readonly search: (queries: number) => Reading;
  /** Stores the words of so many records. */
  readonly index: (records: number) => string;
}

/** The expression of the index <threads>_BY_WORDS: only threads with something to index are in it. */
const STALE_ID = "CASE WHEN words_to < tail THEN thread_id END";

const both = (text: (isLong: boolean) => string): Reading => ({ short: text(false), long: text(true) });

export const wordsStatements = ({ threads, records, words }: TableNames): WordsStatements => ({
  stale: `SELECT thread_id, generation, tail, words_to, edits FROM ${threads}
WHERE ${STALE_ID} > :b_after AND (:b_last IS NULL OR ${STALE_ID} <= :b_last) AND ${ALIVE}
ORDER BY ${STALE_ID} FETCH FIRST :b_most ROWS ONLY`,

  lastStale: `SELECT MAX(${STALE_ID}) AS thread_id FROM ${threads}`,

  progress: `SELECT words_to, edits FROM ${threads} WHERE thread_id = :b_thread AND generation = :b_generation`,

  // Limited by count and by bytes, but always at least one record. `batch_size` tells whether the bytes cut it.
  unindexed: both(
    (
      isLong,
    ) => `SELECT ${[entryColumns("r", isLong), "r.body", ...(isLong ? ["r.long_body"] : [])].join(", ")}, m.batch_size FROM (
  SELECT l.seq, l.body_bytes, SUM(l.body_bytes) OVER (ORDER BY l.seq) AS so_far, COUNT(*) OVER () AS batch_size FROM (
    SELECT seq, body_bytes FROM ${records} WHERE thread_id = :b_thread AND seq > :b_from AND seq <= :b_to
    ORDER BY seq FETCH FIRST :b_most ROWS ONLY) l) m
JOIN ${records} r ON r.thread_id = :b_thread AND r.seq = m.seq
WHERE m.so_far <= :b_bytes OR m.so_far = m.body_bytes
ORDER BY r.seq`,
  ),

  // The page is cut before records are joined, so that no plan reads more of them than the page needs.
  search: (queries) =>
    both(
      (isLong) => `SELECT h.thread_id, h.word_count, ${entryColumns("r", isLong)} FROM (
  SELECT w.thread_id, w.seq, w.word_count FROM ${words} w JOIN ${threads} t ON t.thread_id = w.thread_id
  WHERE ${Array.from({ length: queries }, (_, at) => `CONTAINS(w.words, :b_query_${at + 1}) > 0`).join(" AND ")}
    AND (:b_first IS NULL OR w.thread_id >= :b_first) AND (:b_last IS NULL OR w.thread_id <= :b_last) AND ${aliveIn("t")}
  ORDER BY w.word_count, w.thread_id, w.seq FETCH FIRST :b_most ROWS ONLY) h
JOIN ${records} r ON r.thread_id = h.thread_id AND r.seq = h.seq
ORDER BY h.word_count, h.thread_id, h.seq`,
    ),

  index: (count) => indexBlock(threads, words, count),
});

/**
 * Stores words only if the thread is indexed exactly as far as it was when they were
 * found, and no record was replaced or dropped since: what was erased meanwhile must
 * not come back. Never waits long for a lock.
 */
const indexBlock = (threads: string, words: string, count: number): string => `DECLARE
  v_thread VARCHAR2(1088 BYTE) := :b_thread;
  v_generation VARCHAR2(1024 BYTE) := :b_generation;
  v_from NUMBER := :b_from;
  v_to NUMBER := :b_to;
  v_edits NUMBER := :b_edits;
  v_tail NUMBER;
${count === 0 ? "" : "  v_seq NUMBER;\n  v_word_count NUMBER;\n  v_words CLOB;\n"}BEGIN
  :b_indexed := 0;
  BEGIN
    SELECT tail INTO v_tail FROM ${threads}
    WHERE thread_id = v_thread AND generation = v_generation AND words_to = v_from AND edits = v_edits
    FOR UPDATE WAIT 2;
  EXCEPTION
    WHEN NO_DATA_FOUND THEN
      RETURN;
  END;
  UPDATE ${threads} SET words_to = v_to WHERE thread_id = v_thread;
${Array.from({ length: count }, (_, at) => insertWords(words, at + 1)).join("")}  :b_indexed := 1;
END;`;

const insertWords = (words: string, place: number): string => `  v_seq := :b_seq_${place};
  v_word_count := :b_word_count_${place};
  v_words := :b_words_${place};
  INSERT INTO ${words} (thread_id, seq, word_count, words) VALUES (v_thread, v_seq, v_word_count, v_words);
`;
