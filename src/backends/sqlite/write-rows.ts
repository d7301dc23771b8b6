import { isSamePlace, recordsIn, replacedNothing } from "../../checkpoint/log/driver-rules.ts";
import type { AppendOutcome, AppendRequest, LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { isHintedAt } from "../../driver/ids.ts";
import { isMoved } from "./classify.ts";
import { moveMembers } from "./metadata.ts";
import { findToAppend, headMetadata, rangeOf, readAt, type ThreadToAppend } from "./read-rows.ts";
import {
  damagedThread,
  type EntryRow,
  isProvenThread,
  placeInRow,
  rowId,
  staleness,
  sumOfEntry,
  sumOfThread,
  type ThreadRow,
} from "./rows.ts";
import type { Statements } from "./statements.ts";
import { addWords, forgetWords, type WordsOf } from "./words-index.ts";

/** The steps of a transaction. They neither begin nor end one. */

/** What an append did. */
export interface Appended {
  readonly outcome: AppendOutcome;
  /** Whether message content is gone. */
  readonly erases: boolean;
  /** The thread's row as it is now, with the metadata of its newest checkpoint, if that could be read. */
  readonly row: ThreadToAppend | undefined;
}

/** The append whole, whatever it brings. */
export function appendInSteps(
  statements: Statements,
  threadId: string,
  request: AppendRequest,
  wordsOf: WordsOf,
): Appended {
  const { expected } = request;
  const { generation } = expected;
  const records = recordsIn(request);
  const { seq: tail, writeId: tail_write_id, head } = records.at(-1) ?? request.record;
  const found = findToAppend(statements, threadId);
  const fits = found === undefined ? expected.seq === 0 : isSamePlace(placeInRow(found), expected);
  const next = !fits
    ? undefined
    : found === undefined
      ? createThread(statements, threadId, { generation, tail, tail_write_id, head })
      : advance(statements, found, { tail, tail_write_id, head });
  if (next === undefined) return { outcome: refusal(statements, found, request), erases: false, row: undefined };
  const erases = edit(statements, next, request, wordsOf);
  for (const record of records) insert(statements, next.thread_no, record);
  const metadata = indexMetadata(statements, found, next, request);
  return { outcome: { appended: true }, erases, row: metadata === undefined ? undefined : { ...next, metadata } };
}

/** An append that touches no row but that of its record and that of its thread. */
export const isOneRow = ({ record, more, replace, drop, dropBelow }: AppendRequest): boolean =>
  record.names === undefined &&
  more === undefined &&
  replace === undefined &&
  drop === undefined &&
  dropBelow === undefined;

/** The new row of a thread; `undefined` if a thread of that id exists. */
export function createThread(
  statements: Statements,
  threadId: string,
  { generation, tail, tail_write_id, head }: Pick<ThreadRow, "generation" | "tail" | "tail_write_id" | "head">,
): ThreadRow | undefined {
  const { thread_no: last } = statements.lastThread.get() as { thread_no: number | null };
  const own = { thread_no: (last ?? 0) + 1, thread_id: threadId, generation, tail, tail_write_id, head, indexed: 0 };
  const row = { ...own, stale: staleness(own), sum: sumOfThread(own) };
  const { changes } = statements.create.run(
    ...([row.thread_no, threadId, generation, tail, tail_write_id, head, row.indexed, row.stale, row.sum] as const),
  );
  return Number(changes) === 0 ? undefined : row;
}

/** The row of a thread that has a new tail, and so words that are not indexed. */
export function advance(
  statements: Statements,
  before: ThreadRow,
  { tail, tail_write_id, head }: Pick<ThreadRow, "tail" | "tail_write_id" | "head">,
): ThreadRow {
  const row = { ...before, tail, tail_write_id, head, stale: 1 };
  const sum = sumOfThread(row);
  const statement = before.stale === 1 ? statements.advance : statements.advanceAndMark;
  statement.run(tail, tail_write_id, head, sum, row.thread_id);
  return { ...row, sum };
}

export function refusal(
  statements: Statements,
  thread: ThreadRow | undefined,
  { expected }: AppendRequest,
): AppendOutcome {
  if (thread === undefined) return { appended: false, tail: undefined, generation: undefined, occupant: undefined };
  const at = (seq: number): LogEntry | undefined => readAt(statements, thread.thread_no, seq);
  const tail = at(thread.tail);
  if (tail === undefined) throw damagedThread(thread.thread_id, `its newest record, ${thread.tail}, is missing`);
  const occupant = thread.generation === expected.generation ? at(expected.seq + 1) : undefined;
  return { appended: false, tail, generation: thread.generation, occupant };
}

/** Returns whether any message content is now gone from the thread. */
export function edit(
  statements: Statements,
  { thread_no: threadNo, indexed }: ThreadRow,
  { replace = [], drop = [], dropBelow = 1 }: AppendRequest,
  wordsOf: WordsOf,
): boolean {
  let erases = false;
  for (const record of replace) {
    const id = rowId(threadNo, record.seq);
    forgetWords(statements, id, id, wordsOf);
    const { base, head, write_id, checkpoint_id, names, header, metadata, sum, is_hinted } = columnsOf(record);
    const { changes } = statements.replace.run(
      ...([base, head, write_id, checkpoint_id, names, header, metadata, sum, is_hinted, record.body, id] as const),
    );
    if (Number(changes) === 0) throw replacedNothing();
    statements.unname.run(id, id);
    nameRow(statements, id, record);
    if (record.words !== undefined && record.seq <= indexed) addWords(statements, id, record.words);
    erases = true;
  }
  for (const seq of drop) erases = dropRange(statements, threadNo, seq, seq, wordsOf) || erases;
  if (dropBelow > 1) erases = dropRange(statements, threadNo, 1, dropBelow - 1, wordsOf) || erases;
  return erases;
}

/**
 * One statement for a record behind a row that this process has seen before.
 * `undefined`, and nothing is done, if that row is not in every column as it was,
 * if its words were all indexed then, or if the thread's metadata changes: more has
 * to be read or written then. A row that is as it was has the metadata that it had.
 */
export function appendBehind(
  statements: Statements,
  before: ThreadToAppend | undefined,
  { expected, record }: AppendRequest,
): Appended | undefined {
  if (before === undefined || !isSamePlace(placeInRow(before), expected)) return undefined;
  const { seq: tail, writeId: tail_write_id, head } = record;
  const isSameMetadata = head === tail ? (record.metadata ?? null) === before.metadata : head === before.head;
  if (before.stale !== 1 || !isSameMetadata) return undefined;
  const { thread_no, thread_id, generation, indexed } = before;
  const sum = sumOfThread({ thread_no, thread_id, generation, tail, tail_write_id, head, indexed });
  const { base, write_id, checkpoint_id, names, header, metadata, sum: sumOfRecord, is_hinted } = columnsOf(record);
  const id = rowId(thread_no, tail);
  try {
    statements.append.run(
      ...([thread_no, thread_id, generation, tail, tail_write_id, head, indexed, sum] as const),
      ...([before.tail_write_id, before.head, before.sum, id, base] as const),
      ...([write_id, checkpoint_id, is_hinted, names, header, metadata, sumOfRecord, record.body] as const),
    );
  } catch (error) {
    if (isMoved(error)) return undefined;
    throw error;
  }
  return { outcome: { appended: true }, erases: false, row: { ...before, tail, tail_write_id, head, sum } };
}

export function insert(statements: Statements, threadNo: number, record: LogRecord): void {
  const { base, head, write_id, checkpoint_id, names, header, metadata, sum, is_hinted } = columnsOf(record);
  const id = rowId(threadNo, record.seq);
  statements.insert.run(
    ...([id, base, head, write_id, checkpoint_id, names, header, metadata, sum, is_hinted, record.body] as const),
  );
  nameRow(statements, id, record);
}

/**
 * After everything else of an append: the index has the metadata of the checkpoint that is the newest now.
 * Returns that metadata; `undefined` if its row is damaged or missing.
 */
export function indexMetadata(
  statements: Statements,
  before: ThreadToAppend | undefined,
  now: ThreadRow,
  request: AppendRequest,
): string | null | undefined {
  const { head, thread_id: threadId } = now;
  const isHead = ({ seq }: LogRecord): boolean => seq === head;
  const written = isHead(request.record)
    ? request.record
    : [...recordsIn(request), ...(request.replace ?? [])].find(isHead);
  if (written === undefined && head === before?.head) return before.metadata;
  const metadata = written === undefined ? headMetadata(statements, now) : (written.metadata ?? null);
  moveMembers(statements, threadId, before?.metadata ?? null, metadata ?? null);
  return metadata;
}

function nameRow(statements: Statements, id: number, { names = [] }: LogRecord): void {
  for (const name of names) statements.name.run(id, name);
}

/** Returns whether more was removed than marks of leases and deletions, which hold no message content. */
export function dropRange(
  statements: Statements,
  threadNo: number,
  first: number,
  last: number,
  wordsOf: WordsOf,
): boolean {
  const range = [rowId(threadNo, first), rowId(threadNo, last)] as const;
  const erases = statements.anyContent.get(...range) !== undefined;
  forgetWords(statements, ...range, wordsOf);
  statements.unname.run(...range);
  statements.drop.run(...range);
  return erases;
}

export function dropThread(statements: Statements, thread: ThreadRow, wordsOf: WordsOf): void {
  const { thread_no: threadNo, thread_id: threadId } = thread;
  const metadata = isProvenThread(thread) ? headMetadata(statements, thread) : undefined;
  if (metadata === undefined) statements.dropMembers.run(threadId);
  else moveMembers(statements, threadId, metadata, null);
  const range = rangeOf(threadNo);
  forgetWords(statements, ...range, wordsOf);
  statements.unname.run(...range);
  statements.drop.run(...range);
  statements.forget.run(threadId);
}

/** A record as its row has it. */
function columnsOf(record: LogRecord): Omit<EntryRow, "id"> & { readonly is_hinted: 0 | 1 } {
  const { seq, base, head, writeId, checkpointId, names, header, metadata } = record;
  const columns = {
    base,
    head,
    // Most checkpoints are named by their write id: the name is then stored once.
    write_id: writeId === checkpointId ? null : writeId,
    checkpoint_id: checkpointId ?? null,
    names: names === undefined ? null : JSON.stringify(names),
    header,
    metadata: metadata ?? null,
  };
  const isHinted = checkpointId !== undefined && isHintedAt(checkpointId, seq);
  return { ...columns, sum: sumOfEntry(seq, columns), is_hinted: isHinted ? 1 : 0 };
}
