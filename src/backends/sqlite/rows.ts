import { crc32 } from "node:zlib";
import type { KnownPlace, LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";

/**
 * SQLite keeps no checksums. A record's own checksum covers its body too, and
 * nothing else of ours verifies the row of a thread. So each row carries a checksum
 * of its small columns, which is verified on every read: a flipped bit is CORRUPT,
 * and never an older state, another thread's state, or "no thread".
 */
export interface ThreadRow {
  readonly thread_no: number;
  readonly thread_id: string;
  readonly generation: string;
  readonly tail: number;
  /**
   * The write id of the record at the tail: the number alone may be another record's, in a database that was restored.
   */
  readonly tail_write_id: string;
  readonly head: number;
  readonly indexed: number;
  /** 1 if words are to be indexed, else 0. */
  readonly stale: number;
  readonly sum: number;
}

/** A row of the records table, as both client libraries return it. */
export interface EntryRow {
  readonly id: number;
  readonly base: number;
  readonly head: number;
  readonly write_id: string | null;
  readonly checkpoint_id: string | null;
  readonly names: string | null;
  readonly header: string;
  readonly metadata: string | null;
  readonly sum: number;
}

export interface RecordRow extends EntryRow {
  readonly body: Uint8Array;
}

export const THREAD_COLUMNS: readonly string[] = [
  "thread_no",
  "thread_id",
  "generation",
  "tail",
  "tail_write_id",
  "head",
  "indexed",
  "stale",
  "sum",
];

/** What a reader needs. A writer also says whether the id is hinted. */
export const ENTRY_COLUMNS: readonly string[] = [
  "id",
  "base",
  "head",
  "write_id",
  "checkpoint_id",
  "names",
  "header",
  "metadata",
  "sum",
];

/** 67 million records per thread and 134 million threads: together they fit into a JavaScript number. */
export const ROWS_PER_THREAD: number = 2 ** 26;
const MOST_THREADS = 2 ** 27;

/** The key before a thread's first row, and after the last row of the previous thread. */
export function startOf(threadNo: number): number {
  if (Number.isSafeInteger(threadNo) && threadNo >= 0 && threadNo < MOST_THREADS) return threadNo * ROWS_PER_THREAD;
  throw new StateError("TOO_LARGE", `a database takes at most ${MOST_THREADS - 1} threads`);
}

/** The only place where a position becomes a key. A position outside the thread has no key. */
export function rowId(threadNo: number, seq: number): number {
  if (Number.isSafeInteger(seq) && seq >= 1 && seq < ROWS_PER_THREAD) return startOf(threadNo) + seq;
  throw new StateError("INVALID_ARGUMENT", `a position is a whole number from 1 to ${ROWS_PER_THREAD - 1}, not ${seq}`);
}

/** The same in SQL, for a stored position: a damaged one finds nothing, rather than another thread's row. */
export const sqlRowId = (threadNo: string, seq: string): string =>
  `${threadNo} * ${ROWS_PER_THREAD} + MAX(0, MIN(${seq}, ${ROWS_PER_THREAD - 1}))`;

/** The other way. */
export const seqOf = ({ id }: Pick<EntryRow, "id">): number => id % ROWS_PER_THREAD;

export const isProven = (row: EntryRow): boolean => row.sum === sumOfEntry(seqOf(row), row);

export function toEntry(row: EntryRow): LogEntry {
  const seq = seqOf(row);
  if (row.sum !== sumOfEntry(seq, row)) throw damagedEntry(seq);
  return {
    seq,
    base: row.base,
    head: row.head,
    writeId: row.write_id ?? row.checkpoint_id ?? "",
    checkpointId: row.checkpoint_id ?? undefined,
    ...(row.names !== null && { names: JSON.parse(row.names) as string[] }),
    header: row.header,
    metadata: row.metadata ?? undefined,
  };
}

export const placeInRow = ({ generation, tail, tail_write_id }: ThreadRow): KnownPlace => ({
  generation,
  seq: tail,
  writeId: tail_write_id,
});

export const toRecord = (row: RecordRow): LogRecord => ({ ...toEntry(row), body: row.body, words: undefined });

/** Whether words of the thread are to be indexed, as it is stored. */
export const staleness = ({ indexed, tail }: Pick<ThreadRow, "indexed" | "tail">): number => (indexed < tail ? 1 : 0);

export function provenThread(row: ThreadRow): ThreadRow {
  if (row.sum !== sumOfThread(row) || row.stale !== staleness(row))
    throw damagedThread(row.thread_id, "it does not match its checksum");
  return row;
}

export function isProvenThread(row: ThreadRow): boolean {
  try {
    return provenThread(row) === row;
  } catch {
    return false;
  }
}

/** Here and below: numbers and lengths, then the texts themselves, so that no two rows have the same text. Each save makes three. */
export function sumOfThread(row: Omit<ThreadRow, "sum" | "stale">): number {
  const { thread_id, thread_no, generation, tail, tail_write_id, head, indexed } = row;
  const lengths = `${generation.length} ${tail_write_id.length}`;
  return crc32(`${thread_no} ${tail} ${head} ${indexed} ${lengths} ${generation}${tail_write_id}${thread_id}`);
}

/** Covers the position and not the row's id, so that a copied row keeps its checksum. */
export function sumOfEntry(seq: number, row: Omit<EntryRow, "id" | "sum">): number {
  const { base, head, write_id, checkpoint_id, names, header, metadata } = row;
  // An empty text is not the same as a missing one.
  const ofIds = `${write_id?.length ?? "-"} ${checkpoint_id?.length ?? "-"}`;
  const lengths = `${ofIds} ${names?.length ?? "-"} ${metadata?.length ?? "-"}`;
  const texts = `${write_id ?? ""}${checkpoint_id ?? ""}${names ?? ""}${metadata ?? ""}${header}`;
  return crc32(`${seq} ${base} ${head} ${lengths} ${texts}`);
}

export const sumOfWords = (words: string): number => crc32(words);

export const damagedThread = (threadId: string, fault: string): StateError =>
  new StateError("CORRUPT", `the row of the thread is damaged: ${fault}`, {
    threadId,
    location: `row of thread ${JSON.stringify(threadId)}`,
  });

export const damagedEntry = (seq: number): StateError =>
  new StateError("CORRUPT", `the row of record ${seq} does not match its checksum: it was damaged or changed by hand`, {
    location: `record ${seq}`,
  });

export const damagedIndex = (checkpointId: string, fault: string): StateError =>
  new StateError(
    "CORRUPT",
    `the index of checkpoint ids is damaged: for ${JSON.stringify(checkpointId)} it ${fault}. Nothing is lost; REINDEX in the sqlite3 shell makes the index anew`,
    { checkpointId, location: "index of checkpoint ids" },
  );
