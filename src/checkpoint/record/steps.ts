import type { LogEntry, LogRecord } from "../log/thread-log.ts";
import { newMessagesOf } from "./chain.ts";
import { wordsOf } from "./plan-record.ts";
import { openHeader, openRecord, withChecksum } from "./record.ts";

/**
 * A step is a record that holds a part of the history but is not a checkpoint: it
 * has no id, is not listed and cannot be loaded, but later checkpoints build on
 * it. A checkpoint becomes a step when its name moves on, and a state that does
 * not fit into one record consists of steps.
 */
export const isStep = (entry: LogEntry): boolean => entry.checkpointId === undefined && isContent(entry);

/** A checkpoint or a step, as opposed to the marks of deletions and leases. */
export function isContent(entry: LogEntry): boolean {
  const { kind } = openHeader(entry);
  return kind === "base" || kind === "delta";
}

/** Whether a record may hold what somebody said: what makes up states, and what was sent to the thread. */
export const mayHoldWords = (entry: LogEntry): boolean => isContent(entry) || openHeader(entry).kind === "signal";

/** The same record without its name. `head` is the checkpoint before it. */
export function asStep(record: LogRecord, head: number): LogRecord {
  const { format: _, bodyBytes: _bytes, ...fields } = openRecord(record);
  const words = wordsOf(newMessagesOf(record));
  return withChecksum({ ...record, head, checkpointId: undefined, metadata: undefined, words, fields });
}
