import { newMessagesOf } from "../../checkpoint/chain.ts";
import { wordsOf as wordsOfMessages } from "../../checkpoint/plan-record.ts";
import type { LogRecord } from "../../checkpoint/thread-log.ts";
import { StateError } from "../../errors.ts";
import { sumOfThread, sumOfWords } from "./integrity.ts";
import { rowId } from "./layout.ts";
import { provenThread, type RecordRow, seqOf, type ThreadRow, toRecord } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** The steps of a transaction that concern the word index. They neither begin nor end one. */

export type WordsOf = (record: LogRecord) => string | undefined;

/** Used until an indexing call supplies its own. */
export const wordsOfRecord: WordsOf = (record) => wordsOfMessages(newMessagesOf(record));

export function addWords(statements: Statements, id: number, words: string): void {
  statements.indexed.run(id, sumOfWords(words));
  statements.index.run(id, words);
}

/**
 * To forget a record, the index must be told the record's words. They are in its
 * body. If those are not the words that were indexed (the body is damaged, or
 * another version of holdfast found other words), the whole index is read instead.
 */
export function forgetWords(statements: Statements, first: number, last: number, wordsOf: WordsOf): void {
  const unknown = new Map<number, string[]>();
  for (const { id, sum } of statements.indexedRows.all(first, last) as { id: number; sum: number }[]) {
    const row = statements.body.get(id) as RecordRow | undefined;
    const words = row && wordsIn(row, wordsOf);
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

const RECORDS_TO_FORGET = 64;

/**
 * Removes some records of a thread from the index, the newest first. The mark of how
 * far the thread is indexed stays true, so that a search finds everything again if
 * the removal did not happen. Returns whether there are more.
 */
export function unindexSome(statements: Statements, thread: ThreadRow, wordsOf: WordsOf): boolean {
  const first = rowId(thread.thread_no, 1);
  if (thread.indexed === 0) return false;
  const last = rowId(thread.thread_no, thread.indexed);
  const found = statements.indexedBefore.get(first, last, RECORDS_TO_FORGET) as { id: number } | undefined;
  if (found === undefined) return false;
  forgetWords(statements, found.id + 1, last, wordsOf);
  const next = { ...thread, indexed: seqOf(found) };
  statements.advance.run(next.tail, next.head, next.indexed, sumOfThread(next), thread.thread_no);
  return true;
}

const RECORDS_PER_BATCH = 256;
/** Limits a batch, so that it neither holds the lock for long nor fills the memory, however large the records are. */
const BYTES_PER_BATCH = 4 * 1024 * 1024;

/** Indexes some records of a thread, up to `target`. Returns whether there are more. */
export function indexSome(statements: Statements, threadNo: number, target: number, wordsOf: WordsOf): boolean {
  const row = statements.threadByNumber.get(threadNo) as ThreadRow | undefined;
  if (row === undefined || row.indexed >= Math.min(target, row.tail)) return false;
  const thread = provenThread(row);
  const end = Math.min(target, thread.tail);
  const first = rowId(threadNo, thread.indexed + 1);
  const last = lastOfBatch(statements, first, rowId(threadNo, end));
  for (const record of statements.range.all(first, last) as RecordRow[]) {
    const words = wordsIn(record, wordsOf);
    if (words !== undefined) addWords(statements, record.id, words);
  }
  const next = { ...thread, indexed: seqOf({ id: last }) };
  statements.advance.run(next.tail, next.head, next.indexed, sumOfThread(next), threadNo);
  return next.indexed < end;
}

/** The last row of a batch, or `end` if all remaining rows fit into it. */
function lastOfBatch(statements: Statements, first: number, end: number): number {
  const sizes = statements.sizes.all(first, end, RECORDS_PER_BATCH) as { id: number; length: number }[];
  let bytes = 0;
  for (const [index, { id, length }] of sizes.entries()) {
    bytes += length;
    if (bytes > BYTES_PER_BATCH || index === RECORDS_PER_BATCH - 1) return id;
  }
  return end;
}

/** A record whose words cannot be read is skipped: loading it reports why. */
function wordsIn(row: RecordRow, wordsOf: WordsOf): string | undefined {
  try {
    return wordsOf(toRecord(row));
  } catch {
    return undefined;
  }
}

/** The error of a search that may not write while some words are not indexed. */
export const cannotIndex = (): StateError =>
  new StateError(
    "PERMISSION_DENIED",
    "some messages are not indexed yet, and the database cannot be written: search once where it can be",
  );
