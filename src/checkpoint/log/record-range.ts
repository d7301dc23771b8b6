import type { KnownPlace, LogEntry, LogRecord, ThreadTail } from "./thread-log.ts";

/** The most bytes that one `readRecords` returns, unless a single record is larger. */
export const MOST_BYTES_READ: number = 8 * 1024 * 1024;

/** The newest of these ascending records: as many as `readRecords` returns at once. */
export function newestWithin(records: readonly LogRecord[], limit: number): readonly LogRecord[] {
  let first = records.length;
  for (let bytes = 0; first > 0 && records.length - first < limit; first--) {
    bytes += records[first - 1]?.body.byteLength ?? 0;
    if (bytes > MOST_BYTES_READ && first < records.length) break;
  }
  return records.slice(first);
}

/**
 * The first position that `readTail` returns to a reader that knows the thread up to `newerThan`. `there` is what is at
 * that position now, if anything; at the tail's it need not be given.
 */
export function firstUnknown(
  { generation, entry: tail }: ThreadTail,
  newerThan: KnownPlace | undefined,
  there: Pick<LogEntry, "writeId"> | undefined,
): number {
  if (newerThan === undefined || newerThan.generation !== generation || newerThan.seq > tail.seq) return tail.base;
  const found = newerThan.seq === tail.seq ? tail : there;
  return found?.writeId === newerThan.writeId ? Math.max(tail.base, newerThan.seq + 1) : tail.base;
}
