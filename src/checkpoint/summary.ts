import { StateError } from "../errors.ts";
import type { CheckpointSummary, ThreadSummary } from "./base-checkpointer.ts";
import { decodeMetadata } from "./metadata.ts";
import { openHeader } from "./record.ts";
import type { LogEntry, ThreadEntry } from "./thread-log.ts";

/** `older` is the checkpoint just before it, where that is known: a thread's history is a line. */
export function summarise(entry: LogEntry, older?: LogEntry): CheckpointSummary {
  const header = openHeader(entry);
  return {
    checkpointId: entry.checkpointId ?? "",
    seq: entry.seq,
    createdAt: new Date(header.createdAt),
    messageCount: header.messageCount,
    bytes: header.bodyBytes,
    metadata: metadataOf(entry),
    ...(older?.checkpointId !== undefined && { parentId: older.checkpointId }),
  };
}

/** A thread whose newest checkpoint cannot be read is still listed, by its name: one bad thread must not hide the others. */
export function summariseThread({ threadId, head }: ThreadEntry): ThreadSummary {
  try {
    return { threadId, ...summarise(head) };
  } catch (error) {
    if (!StateError.is(error)) throw error;
    return { threadId, checkpointId: head.checkpointId ?? "" };
  }
}

export const metadataOf = (entry: LogEntry): Readonly<Record<string, unknown>> =>
  entry.metadata === undefined ? {} : decodeMetadata(entry.metadata, `the metadata of record ${entry.seq}`);
