import type { LogRecord } from "../../checkpoint/thread-log.ts";
import { StateError } from "../../errors.ts";
import { sumOfThread, sumOfWords } from "./integrity.ts";
import { rowId } from "./layout.ts";
import { provenThread, type RecordRow, seqOf, type ThreadRow, toRecord } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** The steps of a transaction that concern the index of words. Neither begins nor ends one. */

export type WordsOf = (record: LogRecord) => string | undefined;

export function addWords(statements: Statements, id: number, words: string): void {
  statements.indexed.run(id, sumOfWords(words));
  statements.index.run(id, words);
}

/**
 * The index must be told which words a record brought. They are in its body;
 * where they are not what was indexed (the body is damaged, or another version
 * of holdfast saw other words in it), the index is asked, which reads all of it.
 */
export function forgetWords(statements: Statements, first: number, last: number, wordsOf: WordsOf): void {
  const unknown = new Map<number, string[]>();
  for (const { id, sum } of statements.indexedRows.all(first, last) as { id: number; sum: number }[]) {
    const words = wordsAt(statements, id, wordsOf);
    if (words !== undefined && sumOfWords(words) === sum) statements.unindex.run(id, words);
    else unknown.set(id, []);
  }
  if (unknown.size > 0) {
    const terms = statements.terms.all(first, last) as { id: number; term: string }[];
    for (const { id, term } of terms) unknown.get(id)?.push(term);
    for (const [id, words] of unknown) statements.unindex.run(id, words.join(" "));
  }
  statements.unindexed.run(first, last);
}

function wordsAt(statements: Statements, id: number, wordsOf: WordsOf): string | undefined {
  const row = statements.body.get(id) as RecordRow | undefined;
  try {
    return row && wordsOf(toRecord(row));
  } catch {
    // Whatever is wrong with the record, it is about to go.
    return undefined;
  }
}

const RECORDS_PER_BATCH = 256;
/** So that a batch neither holds the lock nor fills the memory for long, however large the records. */
const BYTES_PER_BATCH = 4 * 1024 * 1024;

/**
 * Indexes some records of a thread, up to `target`. Says whether there are more.
 * One whose words cannot be told ends it: what stands before it is kept, and
 * whoever loads it hears why.
 */
export function indexSome(statements: Statements, threadNo: number, target: number, wordsOf: WordsOf): boolean {
  const row = statements.threadByNumber.get(threadNo) as ThreadRow | undefined;
  if (row === undefined || row.indexed >= Math.min(target, row.tail)) return false;
  const thread = provenThread(row);
  const end = Math.min(target, thread.tail);
  const last = lastOfBatch(statements, rowId(threadNo, thread.indexed + 1), rowId(threadNo, end));
  const rows = statements.range.all(rowId(threadNo, thread.indexed + 1), last.id) as RecordRow[];
  let reached = thread.indexed;
  let stopped = false;
  for (const record of rows) {
    const found = record.checkpoint_id === null ? { words: undefined } : readWords(record, wordsOf);
    stopped = found === undefined;
    if (found === undefined) break;
    if (found.words !== undefined) addWords(statements, record.id, found.words);
    reached = seqOf(record);
  }
  if (!stopped && last.isEnd) reached = end;
  const next = { ...thread, indexed: reached };
  statements.advance.run(next.tail, next.head, next.indexed, sumOfThread(next), threadNo);
  return !stopped && !last.isEnd;
}

function lastOfBatch(statements: Statements, first: number, end: number): { id: number; isEnd: boolean } {
  const sizes = statements.sizes.all(first, end, RECORDS_PER_BATCH) as { id: number; length: number }[];
  let bytes = 0;
  for (const { id, length } of sizes) {
    bytes += length;
    if (bytes > BYTES_PER_BATCH) return { id, isEnd: id === end };
  }
  const full = sizes.length === RECORDS_PER_BATCH;
  return full ? { id: sizes.at(-1)?.id ?? end, isEnd: sizes.at(-1)?.id === end } : { id: end, isEnd: true };
}

/** `undefined` where the record is of a kind that this build cannot read: a later one may. A damaged one stays without words. */
function readWords(row: RecordRow, wordsOf: WordsOf): { readonly words: string | undefined } | undefined {
  try {
    return { words: wordsOf(toRecord(row)) };
  } catch (error) {
    if (!StateError.is(error)) throw error;
    return error.code === "CORRUPT" ? { words: undefined } : undefined;
  }
}
