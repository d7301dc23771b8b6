import type { ThreadStats } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import type { LogEntry } from "../log/thread-log.ts";
import { openHeader } from "../record/record.ts";
import { Thread } from "../thread/thread.ts";

/** The size of a thread, from its headers alone. */
export async function threadStats(context: CheckpointContext, threadId: string): Promise<ThreadStats | undefined> {
  let [checkpoints, bytes] = [0, 0];
  let newest: LogEntry | undefined;
  let oldest: LogEntry | undefined;
  for await (const entry of new Thread(context, threadId, "stats").entries()) {
    if (oldest !== undefined) bytes += bytesBetween(entry, oldest);
    newest ??= entry;
    oldest = entry;
    checkpoints++;
  }
  if (newest === undefined || oldest === undefined) return undefined;
  bytes += bytesBetween(undefined, oldest);
  const header = openHeader(newest);
  return {
    checkpoints,
    bytes,
    messages: header.messageCount,
    loadBytes: header.chain.bytes,
    loadRecords: header.chain.records,
    firstAt: new Date(openHeader(oldest).createdAt),
    lastAt: new Date(header.createdAt),
  };
}

/** What a checkpoint added to the one before it: its own record and the steps it builds on. */
function bytesBetween(older: LogEntry | undefined, entry: LogEntry): number {
  const { kind, buildsOn, bodyBytes, chain } = openHeader(entry);
  if (kind === "base" || buildsOn === older?.seq) return bodyBytes;
  const shared = older !== undefined && entry.base <= older.seq ? openHeader(older).chain.bytes : 0;
  return Math.max(bodyBytes, chain.bytes - shared);
}
