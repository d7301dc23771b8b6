import { MOST_BYTES_READ, newestWithin } from "../../checkpoint/log/driver-rules.ts";
import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { AT_ONCE, inParallel } from "../../internal/concurrency.ts";
import type { Range } from "./layout.ts";
import { withoutBody } from "./record-fields.ts";
import type { Segment } from "./segment.ts";
import type { Row } from "./segment-file.ts";
import { type Snapshot, within } from "./snapshot.ts";

/**
 * Pages of a thread, from the newest record down: first the files of single records,
 * then the history. Reads no further than needed.
 */

/** Entries of checkpoints below a position, newest first. */
export async function checkpointsBelow(
  snapshot: Snapshot,
  before: number,
  limit: number,
): Promise<readonly LogEntry[]> {
  const found: LogEntry[] = [];
  const files = snapshot.files.filter((file) => file < before);
  while (files.length > 0 && found.length < limit) {
    const some = files.splice(-Math.min(AT_ONCE, limit - found.length));
    const entries = (await inParallel(some, (file) => snapshot.entriesAsWritten(file))).flat();
    const named = entries
      .filter(({ seq }) => seq < before && snapshot.counts(seq))
      .map((entry) => entryAsEdited(snapshot, entry))
      .filter(({ checkpointId }) => checkpointId !== undefined);
    found.push(...named.reverse());
  }
  for (const { range, part } of segmentsBelow(snapshot, before)) {
    if (found.length >= limit) break;
    const rest = limit - found.length;
    found.push(...(await snapshot.useSegment(range, (segment) => newestCheckpoints(snapshot, segment, part, rest))));
  }
  return found.slice(0, limit);
}

async function newestCheckpoints(
  snapshot: Snapshot,
  segment: Segment,
  part: Range,
  limit: number,
): Promise<readonly LogEntry[]> {
  const isListed = (row: Row): boolean => snapshot.counts(row.seq) && snapshot.asEdited(row).checkpointId !== undefined;
  const entries = await segment.entries(newestRows(segment.rows(part), limit, isListed));
  return entries.map((entry) => entryAsEdited(snapshot, entry)).reverse();
}

function entryAsEdited(snapshot: Snapshot, entry: LogEntry): LogEntry {
  const edited = snapshot.asEdited(entry);
  return "body" in edited ? withoutBody(edited) : edited;
}

/** The newest records below a position, ascending, limited as in `readRecords`. */
export async function recordsBelow(snapshot: Snapshot, before: number, limit: number): Promise<readonly LogRecord[]> {
  const found: LogRecord[] = [];
  let room = MOST_BYTES_READ;
  const add = (records: readonly LogRecord[]): void => {
    found.unshift(...records);
    for (const { body } of records) room -= body.byteLength;
  };
  const files = snapshot.files.filter((file) => file < before);
  while (files.length > 0 && found.length < limit && room > 0) {
    // Reads as many at once as the sizes so far allow.
    const some = files.splice(-Math.min(AT_ONCE, limit - found.length, 1 + found.length));
    const records = (await inParallel(some, (file) => snapshot.recordsIn(file))).flat();
    add(records.filter(({ seq }) => seq < before));
  }
  for (const { range, part } of segmentsBelow(snapshot, before)) {
    if (found.length >= limit || room <= 0) break;
    const most = { limit: limit - found.length, bytes: room };
    add(await snapshot.useSegment(range, (segment) => newestRecords(snapshot, segment, part, most)));
  }
  return newestWithin(found, limit);
}

async function newestRecords(
  snapshot: Snapshot,
  segment: Segment,
  part: Range,
  most: { readonly limit: number; readonly bytes: number },
): Promise<readonly LogRecord[]> {
  let [taken, bytes] = [0, 0];
  // A line is never shorter than its body.
  const fits = (row: Row): boolean => {
    bytes += row.bytes;
    return taken++ === 0 || bytes <= most.bytes;
  };
  const rows = newestRows(segment.rows(part), most.limit, ({ seq }) => snapshot.counts(seq), fits);
  const found: LogRecord[] = [];
  for await (const some of segment.records(rows)) found.push(...some);
  return found.map((record) => snapshot.asEdited(record));
}

/** Reads backwards, no further than needed: a history is long, a page of it short. Returns ascending rows. */
function newestRows(
  rows: readonly Row[],
  limit: number,
  isWanted: (row: Row) => boolean,
  fits: (row: Row) => boolean = () => true,
): readonly Row[] {
  const found: Row[] = [];
  for (let index = rows.length - 1; index >= 0 && found.length < limit; index--) {
    const row = rows[index];
    if (row === undefined || !isWanted(row)) continue;
    if (!fits(row)) break;
    found.push(row);
  }
  return found.reverse();
}

/** Newest first, each with the part of its range that the one before does not hold. */
function segmentsBelow({ listing: { segments } }: Snapshot, before: number): readonly { range: Range; part: Range }[] {
  const parts = segments.flatMap((range, index) => {
    const part = within({ from: 1, to: before - 1 }, range, segments[index - 1]);
    return part === undefined ? [] : [{ range, part }];
  });
  return parts.reverse();
}
