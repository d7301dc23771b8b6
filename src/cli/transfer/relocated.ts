import { wordsOfRecord } from "../../checkpoint/graphs/graph-words.ts";
import { factsWith } from "../../checkpoint/lease/lease-rules.ts";
import type { LogRecord, ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { openRecord, type ThreadFacts, withChecksum } from "../../checkpoint/record/record.ts";
import { withMail } from "../../checkpoint/signals/mailbox.ts";
import { StateError } from "../../errors.ts";
import { asChangeOf } from "../../saver/thread/graph-record.ts";
import { isGraphContent, type OutlinedRecord } from "./source-thread.ts";

/** Where a record lies in a store without gaps, and where what it names lies. */
export interface NewPlace {
  readonly seq: number;
  readonly base: number;
  readonly head: number;
  readonly buildsOn: number;
  /** What a graph's checkpoint is a change of. */
  readonly changes: number;
}

/**
 * A log takes a record only behind its tail, so positions have no gaps in a
 * copy. An older record may name a head that was deleted since: only the tail's
 * counts, so it is told the checkpoint before.
 */
export function placeElsewhere(outline: readonly OutlinedRecord[], index: number): NewPlace {
  const { base, head, kind, buildsOn, changes, isGraphs: isOfGraph } = outline[index] as OutlinedRecord;
  const seq = index + 1;
  // A graph's builds on whatever was before it, be it a lease's mark, which is not taken along.
  const before = isOfGraph ? index - 1 : kind === "delta" ? indexOf(outline, buildsOn) : -1;
  return {
    seq,
    base: Math.min(seq, atOrAfter(outline, base) + 1),
    head: head === 0 ? 0 : Math.min(seq, headElsewhere(outline, head)),
    buildsOn: kind === "delta" ? before + 1 : 0,
    changes: changes === 0 ? 0 : indexOf(outline, changes) + 1,
  };
}

/**
 * A record as it is in another store: whatever names a position is given the new one,
 * and it is sealed anew. Its write id, names, time, metadata and body stay; but for the
 * position that a graph's body names. Every copy of a record is the same, whichever
 * process makes it.
 */
export function relocated(record: LogRecord, outline: readonly OutlinedRecord[], log: ThreadLog): LogRecord {
  // Proves the bytes: what is damaged is not passed on under a new checksum.
  const { format: _, bodyBytes: _bytes, thread, ...fields } = openRecord(record);
  const { buildsOn, changes, ...place } = placeElsewhere(outline, indexOf(outline, record.seq));
  const isContent = fields.kind === "base" || fields.kind === "delta";
  const facts = factsElsewhere(thread);
  return withChecksum({
    ...record,
    ...place,
    body: isGraphContent(record) ? asChangeOf(record.body, record.seq, changes) : record.body,
    words: isContent ? wordsFor(log, record, thread) : undefined,
    fields: { ...fields, buildsOn, ...(facts !== undefined && { thread: facts }) },
  });
}

function wordsFor(log: ThreadLog, record: LogRecord, thread: ThreadFacts | undefined): string | undefined {
  return log.capabilities.search === "with words" ? wordsOfRecord(record, thread) : undefined;
}

/** It is not leased there, and nothing was sent to it. */
const factsElsewhere = (thread: ThreadFacts | undefined): ThreadFacts | undefined =>
  factsWith(withMail(thread, undefined), undefined);

function headElsewhere(outline: readonly OutlinedRecord[], head: number): number {
  let at = atOrAfter(outline, head + 1) - 1;
  while (at >= 0 && outline[at]?.isCheckpoint !== true) at--;
  return at + 1;
}

function indexOf(outline: readonly OutlinedRecord[], seq: number): number {
  const at = atOrAfter(outline, seq);
  if (outline[at]?.seq === seq) return at;
  throw new StateError("CORRUPT", `record ${seq} is missing, and others build on it`, { location: `record ${seq}` });
}

/** The index of the first record that is not before this position. */
function atOrAfter(outline: readonly OutlinedRecord[], seq: number): number {
  let [low, high] = [0, outline.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((outline[middle]?.seq ?? 0) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
