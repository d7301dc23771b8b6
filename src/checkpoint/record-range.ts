import type { KnownPlace, LogEntry, LogRecord } from "./thread-log.ts";

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

/** The first position that `readTail` returns to a reader that knows the thread up to `newerThan`. */
export function firstUnknown(generation: string, tail: LogEntry, newerThan: KnownPlace | undefined): number {
  const isKnown = newerThan?.generation === generation && newerThan.seq <= tail.seq;
  return isKnown ? Math.max(tail.base, newerThan.seq + 1) : tail.base;
}
