import type { ThreadStats } from "./base-checkpointer.ts";
import type { CheckpointContext } from "./context.ts";
import { entries } from "./editing.ts";
import { openHeader } from "./record.ts";
import type { LogEntry } from "./thread-log.ts";

/** What a thread costs, from its headers alone. */
export async function threadStats(context: CheckpointContext, threadId: string): Promise<ThreadStats | undefined> {
  let [checkpoints, bytes] = [0, 0];
  let newest: LogEntry | undefined;
  let oldest: LogEntry | undefined;
  for await (const entry of entries(context, threadId)) {
    newest ??= entry;
    oldest = entry;
    checkpoints++;
    bytes += openHeader(entry).bodyBytes;
  }
  if (newest === undefined || oldest === undefined) return undefined;
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
