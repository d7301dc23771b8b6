import { MOST_BYTES_READ } from "../../checkpoint/log/driver-rules.ts";
import { listedThread } from "../../checkpoint/log/listed-threads.ts";
import type {
  KnownPlace,
  ListedThread,
  LogEntry,
  LogPage,
  LogRecord,
  WithRecords,
} from "../../checkpoint/log/thread-log.ts";
import { hasMember } from "../../checkpoint/sql-log/members.ts";
import { hintedSeq } from "../../driver/ids.ts";
import {
  damagedIndex,
  damagedThread,
  type EntryRow,
  isProven,
  isProvenThread,
  placeInRow,
  provenThread,
  type RecordRow,
  ROWS_PER_THREAD,
  rowId,
  seqOf,
  sumOfThread,
  type ThreadRow,
  toEntry,
  toRecord,
} from "./rows.ts";
import type { Statements } from "./statements.ts";

/** What a transaction reads. Everything returned from here is verified, or marked as damaged. */

export interface ProvenThread {
  readonly thread: ThreadRow;
  readonly tail: LogEntry;
}

export function findThread(statements: Statements, threadId: string): ThreadRow | undefined {
  const row = statements.thread.get(threadId) as ThreadRow | undefined;
  if (row === undefined) assertAbsent(statements, threadId);
  return row && provenThread(row);
}

/** The same, and the metadata of its newest checkpoint. */
export function findToAppend(statements: Statements, threadId: string): ThreadToAppend | undefined {
  const row = statements.threadToAppend.get(threadId) as ThreadToAppend | undefined;
  if (row === undefined) assertAbsent(statements, threadId);
  else provenThread(row);
  return row;
}

export interface ThreadToAppend extends ThreadRow {
  readonly metadata: string | null;
}

/** The thread and its tail, which must be its newest record. */
export function readThread(statements: Statements, threadId: string): ProvenThread | undefined {
  const thread = findThread(statements, threadId);
  if (thread === undefined) return undefined;
  const newest = statements.newest.get(...rangeOf(thread.thread_no)) as EntryRow | undefined;
  const found = newest === undefined ? "there is none" : `the newest is record ${seqOf(newest)}`;
  if (newest === undefined || seqOf(newest) !== thread.tail) {
    throw damagedThread(threadId, `its newest record should be ${thread.tail}, and ${found}`);
  }
  const tail = toEntry(newest);
  if (tail.writeId !== thread.tail_write_id) {
    throw damagedThread(
      threadId,
      `its newest record should be of the write ${thread.tail_write_id}, and it is another's`,
    );
  }
  if (tail.head !== thread.head) {
    throw damagedThread(threadId, `its newest checkpoint should be at ${thread.head}, and its tail says ${tail.head}`);
  }
  return { thread, tail };
}

/** The last position below `before` that a thread can have; 0 if there is no such position. */
export const positionBelow = (before: number = ROWS_PER_THREAD): number =>
  before > 1 ? Math.min(Math.ceil(before), ROWS_PER_THREAD) - 1 : 0;

/** The range of keys that a thread can have. */
export const rangeOf = (threadNo: number, last: number = ROWS_PER_THREAD - 1): [first: number, last: number] => [
  rowId(threadNo, 1),
  rowId(threadNo, last),
];

export const readRecords = (statements: Statements, threadNo: number, first: number, last: number): LogRecord[] =>
  (statements.range.all(rowId(threadNo, first), rowId(threadNo, last)) as RecordRow[]).map(toRecord);

/** The newest records of the thread up to `last`, in ascending order. */
export function readBackwards(statements: Statements, threadNo: number, last: number, limit: number): LogRecord[] {
  const range = rangeOf(threadNo, last);
  const sizes = statements.newestSizes.all(...range, limit) as { id: number; length: number }[];
  let bytes = 0;
  const fitting = sizes.filter(({ length }, index) => {
    bytes += length;
    return index === 0 || bytes <= MOST_BYTES_READ;
  });
  const oldest = fitting.at(-1)?.id;
  return oldest === undefined ? [] : (statements.range.all(oldest, range[1]) as RecordRow[]).map(toRecord);
}

/** A thread with more than this is left to calls of its own. */
const MOST_SHORT_RECORDS = 32;

/**
 * A thread with all of its records, if they are few and short; `undefined` of one that has no checkpoint, or is to be skipped.
 * What is damaged comes without records, and is told by a call for it alone.
 */
export function readShortThread(
  statements: Statements,
  row: ThreadRow,
  skips: (threadId: string, tail: KnownPlace) => boolean,
): (ListedThread & WithRecords) | undefined {
  const { thread_id: threadId, thread_no: threadNo, head } = row;
  const tail = placeInRow(row);
  const isProven = isProvenThread(row);
  if (head === 0 || (isProven && skips(threadId, tail))) return undefined;
  const records = isProven ? shortRecords(statements, threadNo) : undefined;
  const item = listedThread(threadId, () => {
    if (!isProven) provenThread(row);
    const entry = records?.find(({ seq }) => seq === head) ?? readAt(statements, threadNo, head);
    if (entry === undefined) throw damagedThread(threadId, `its newest checkpoint, record ${head}, is missing`);
    return entry;
  });
  const newest = records?.at(-1);
  const isWhole = newest?.seq === tail.seq && newest.writeId === tail.writeId;
  return records !== undefined && isWhole ? { ...item, tail, records } : item;
}

function shortRecords(statements: Statements, threadNo: number): readonly LogRecord[] | undefined {
  const rows = statements.shortRecords.all(...rangeOf(threadNo), MOST_SHORT_RECORDS + 1) as RecordRow[];
  if (rows.length > MOST_SHORT_RECORDS || rows.some(({ body }) => body === null)) return undefined;
  try {
    return rows.map(toRecord);
  } catch {
    return undefined;
  }
}

/** The newest record of that name: the one at the position that the name hints at, or one that is indexed by it. */
export function readNamed(statements: Statements, threadNo: number, name: string): LogEntry | undefined {
  const range = rangeOf(threadNo);
  const row = statements.named.get(name, ...range, name, ...range) as EntryRow | undefined;
  const indexed = row && toEntry(row);
  if (indexed !== undefined && !hasName(indexed, name))
    throw damagedIndex(name, `leads to record ${indexed.seq} instead`);
  const hinted = readHinted(statements, threadNo, name);
  return hinted === undefined || (indexed !== undefined && indexed.seq > hinted.seq) ? indexed : hinted;
}

export const hasName = ({ checkpointId, names }: LogEntry, name: string): boolean =>
  checkpointId === name || (names?.includes(name) ?? false);

/** The entry at a position that a thread may have. */
export function readAt(statements: Statements, threadNo: number, seq: number): LogEntry | undefined {
  if (!(seq >= 1 && seq < ROWS_PER_THREAD)) return undefined;
  const row = statements.at.get(rowId(threadNo, seq)) as EntryRow | undefined;
  return row && toEntry(row);
}

/** A damaged record there may be the one that is asked for, so that is an error. */
function readHinted(statements: Statements, threadNo: number, name: string): LogEntry | undefined {
  const seq = hintedSeq(name);
  const entry = seq === undefined ? undefined : readAt(statements, threadNo, seq);
  return entry?.checkpointId === name ? entry : undefined;
}

/** The metadata of a thread's newest checkpoint as it is stored; `undefined` if its row is damaged or missing. */
export function headMetadata(statements: Statements, { thread_no, head }: ThreadRow): string | null | undefined {
  if (head === 0) return null;
  if (!(head > 0 && head < ROWS_PER_THREAD)) return undefined;
  const row = statements.at.get(rowId(thread_no, head)) as EntryRow | undefined;
  return row !== undefined && isProven(row) ? row.metadata : undefined;
}

/** A thread joined with the row of one of its checkpoints, which may be missing. */
export type ThreadHeadRow = { readonly [Column in keyof ThreadRow as `t_${Column}`]: ThreadRow[Column] } & {
  readonly [Column in keyof EntryRow]: EntryRow[Column] | null;
};

/** A row of the index of metadata, and the thread that it points to. */
export type FoundMember = ThreadHeadRow & { readonly place: string };

export function threadOf(row: ThreadHeadRow): ThreadRow {
  const { t_thread_no, t_thread_id, t_generation, t_tail, t_tail_write_id, t_head, t_indexed, t_stale, t_sum } = row;
  return {
    thread_no: t_thread_no,
    thread_id: t_thread_id,
    generation: t_generation,
    tail: t_tail,
    tail_write_id: t_tail_write_id,
    head: t_head,
    indexed: t_indexed,
    stale: t_stale,
    sum: t_sum,
  };
}

/** The entry of a joined row, if both rows are verified. */
export function provenEntry(row: ThreadHeadRow): LogEntry | undefined {
  if (row.id === null || !isProven(row as EntryRow) || !isProvenThread(threadOf(row))) return undefined;
  return toEntry(row as EntryRow);
}

/**
 * The entry of the head checkpoint of a joined row. `undefined` if the thread has
 * no checkpoint, or is gone; damage is an error.
 */
function headOf(row: ThreadHeadRow): LogEntry | undefined {
  if (row.t_thread_id === null) return undefined;
  const { thread_id, head } = provenThread(threadOf(row));
  if (head === 0) return undefined;
  if (row.id === null) throw damagedThread(thread_id, `its newest checkpoint, record ${head}, is missing`);
  const entry = toEntry(row as EntryRow);
  if (entry.seq === head) return entry;
  throw damagedThread(thread_id, `its newest checkpoint should be record ${head}, and record ${entry.seq} was found`);
}

export const listed = (row: ThreadHeadRow): ListedThread | undefined =>
  listedThread(row.t_thread_id, () => headOf(row));

/**
 * The same, if the head checkpoint has that member. One that cannot be read counts as a match, so that it is not passed
 * over.
 */
export const listedWithMember = (row: ThreadHeadRow, key: string, valueJson: string): ListedThread | undefined =>
  listedThread(row.t_thread_id, () => {
    const head = headOf(row);
    return hasMember(row.metadata, key, valueJson) ? head : undefined;
  });

export const pageOf = (items: readonly ListedThread[], limit: number): LogPage<ListedThread> => ({
  items: items.slice(0, limit),
  cursor: items.length > limit ? items[limit - 1]?.threadId : undefined,
});

/** The smallest text that is greater than every text with this prefix, in SQLite's order (code points). */
export function successorOf(prefix: string): string | undefined {
  const points = [...prefix];
  while (points.length > 0) {
    const next = (points.pop()?.codePointAt(0) ?? 0) + 1;
    if (next <= 0x10ffff) return points.join("") + String.fromCodePoint(next === 0xd800 ? 0xe000 : next);
  }
  return undefined;
}

/**
 * For a thread that was not found: fails if damage may be why. Rows of threads lie in the order of their ids, and one
 * whose id was damaged is not found by the id that it had; nor are others, if that id now leads to the wrong side of
 * them. A search that goes wrong ends beside the damaged row: that still has the checksum of its own id, or is
 * followed by an id that belongs before it.
 */
export function assertAbsent(statements: Statements, threadId: string): void {
  const before = statements.threadsBefore.all(threadId) as ThreadRow[];
  const behind = statements.threadsBehind.all(threadId) as ThreadRow[];
  const isIt = (row: ThreadRow): boolean =>
    !isProvenThread(row) && row.sum === sumOfThread({ ...row, thread_id: threadId });
  if (before.some(isIt) || behind.some(isIt)) throw damagedThread(threadId, "its id there is another one");
  const ids = [...before.toReversed(), { thread_id: threadId }, ...behind].map(({ thread_id: id }) =>
    Buffer.from(`${id}`),
  );
  const isSorted = ids.every((id, at) => at === 0 || Buffer.compare(ids[at - 1] ?? id, id) < 0);
  if (!isSorted) throw damagedThread(threadId, "rows beside its place are not in the order of their ids");
}
