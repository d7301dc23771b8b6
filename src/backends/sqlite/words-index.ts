import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { newMessagesOf } from "../../checkpoint/record/chain.ts";
import { wordsOf as wordsOfMessages } from "../../checkpoint/record/plan-record.ts";
import { StateError } from "../../errors.ts";
import {
  isProvenThread,
  type RecordRow,
  rowId,
  seqOf,
  staleness,
  sumOfThread,
  sumOfWords,
  type ThreadRow,
  toRecord,
} from "./rows.ts";
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
  markIndexed(statements, thread, seqOf(found));
  return true;
}

/** The words of this thread are indexed up to that position. */
export function markIndexed(statements: Statements, thread: ThreadRow, indexed: number): void {
  const row = { ...thread, indexed };
  statements.markIndexed.run(indexed, staleness(row), sumOfThread(row), thread.thread_id);
}

/** Limit a batch, so that it neither holds the lock for long nor fills the memory, however large the records are. */
const RECORDS_PER_BATCH = 256;
const BYTES_PER_BATCH = 4 * 1024 * 1024;
const LONGEST_BATCH_MS = 10;
/** How many records are indexed before the time is looked at. */
const RECORDS_PER_STEP = 32;

/** A thread, and up to which position it is to be indexed. */
export interface StaleThread {
  readonly thread_no: number;
  readonly tail: number;
}

/**
 * Indexes threads, one after another, until the batch is full. Returns how many of
 * them are done. A damaged one is passed over: loading it reports the damage.
 */
export function indexBatch(statements: Statements, threads: readonly StaleThread[], wordsOf: WordsOf): number {
  const room = { records: RECORDS_PER_BATCH, bytes: BYTES_PER_BATCH, end: performance.now() + LONGEST_BATCH_MS };
  let done = 0;
  for (const { thread_no: threadNo, tail } of threads) {
    while (indexSome(statements, threadNo, tail, wordsOf, room)) if (isFull(room)) return done;
    done++;
    if (isFull(room)) break;
  }
  return done;
}

/** What a batch may still take. */
interface Room {
  records: number;
  bytes: number;
  readonly end: number;
}

const isFull = ({ records, bytes, end }: Room): boolean => records <= 0 || bytes <= 0 || performance.now() >= end;

/** Indexes some records of a thread, up to `target`. Returns whether there are more. */
function indexSome(statements: Statements, threadNo: number, target: number, wordsOf: WordsOf, room: Room): boolean {
  const thread = statements.threadByNumber.get(threadNo) as ThreadRow | undefined;
  if (thread === undefined || !isProvenThread(thread) || thread.indexed >= Math.min(target, thread.tail)) return false;
  const end = Math.min(target, thread.tail);
  const first = rowId(threadNo, thread.indexed + 1);
  const last = lastOfStep(statements, first, rowId(threadNo, end), room);
  for (const record of statements.range.all(first, last) as RecordRow[]) {
    const words = wordsIn(record, wordsOf);
    if (words !== undefined) addWords(statements, record.id, words);
  }
  const indexed = seqOf({ id: last });
  markIndexed(statements, thread, indexed);
  return indexed < end;
}

/** The last row of a step, or `end` if all remaining rows fit into it. At least one does. */
function lastOfStep(statements: Statements, first: number, end: number, room: Room): number {
  const most = Math.max(1, Math.min(RECORDS_PER_STEP, room.records));
  const sizes = statements.sizes.all(first, end, most) as { id: number; length: number }[];
  for (const [index, { id, length }] of sizes.entries()) {
    room.records--;
    room.bytes -= length;
    if (room.bytes <= 0 || index === most - 1) return id;
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
