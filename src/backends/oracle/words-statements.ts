import type { TableNames } from "./layout.ts";
import { entryColumns } from "./rows.ts";
import { aliveIn } from "./sql-clock.ts";
import type { Reading } from "./statements.ts";

/** The statements of the word index, apart from those of threads: only a schema with a text index uses them. */
export interface WordsStatements {
  /** For so many queries. */
  readonly search: (queries: number) => Reading;
  /** Stores the words of so many records. */
  readonly index: (records: number) => string;
}

const both = (text: (isLong: boolean) => string): Reading => ({ short: text(false), long: text(true) });

export const wordsStatements = ({ threads, records, words }: TableNames): WordsStatements => ({
  // The page is cut before records are joined, so that no plan reads more of them than the page needs.
  search: (queries) =>
    both(
      (isLong) => `SELECT h.thread_id, h.word_count, ${entryColumns("r", isLong)} FROM (
  SELECT w.thread_id, w.seq, w.word_count FROM ${words} w JOIN ${threads} t ON t.thread_id = w.thread_id
  WHERE ${Array.from({ length: queries }, (_, at) => `CONTAINS(w.words, :b_query_${at + 1}) > 0`).join(" AND ")}
    AND w.thread_id >= :b_first AND (:b_last IS NULL OR w.thread_id <= :b_last) AND ${aliveIn("t")}
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
