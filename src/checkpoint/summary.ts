import { decodeText } from "../state/codec.ts";
import type { CheckpointSummary, ThreadSummary } from "./base-checkpointer.ts";
import { openHeader } from "./record.ts";
import type { LogEntry, ThreadEntry } from "./thread-log.ts";

export function summarise(entry: LogEntry): CheckpointSummary {
  const header = openHeader(entry);
  return {
    checkpointId: entry.checkpointId ?? "",
    seq: entry.seq,
    createdAt: new Date(header.createdAt),
    messageCount: header.messageCount,
    bytes: header.bodyBytes,
    metadata: metadataOf(entry),
    ...(header.parentId !== undefined && { parentId: header.parentId }),
  };
}

export const summariseThread = ({ threadId, head }: ThreadEntry): ThreadSummary => ({ threadId, ...summarise(head) });

export const metadataOf = (entry: LogEntry): Readonly<Record<string, unknown>> =>
  entry.metadata === undefined
    ? {}
    : (decodeText(entry.metadata, `the metadata of record ${entry.seq}`) as Readonly<Record<string, unknown>>);
