import { type Page, page } from "../../driver/page.ts";
import type { Warnings } from "../../driver/warnings.ts";
import type { CheckpointSummary, ThreadStats, ThreadSummary } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import { isReadable, isUnreadableThread } from "../log/listed-threads.ts";
import type { ListedThread, LogEntry, LogPage, ThreadEntry } from "../log/thread-log.ts";
import { decodeMetadata } from "../record/metadata.ts";
import { openHeader, type RecordHeader } from "../record/record.ts";
import { Thread } from "../thread/thread.ts";

/** A page of threads, and the troubles of those that it shows in part. */
export interface FoundThreads extends LogPage<ListedThread> {
  readonly warnings: Warnings;
}

/** `older` is the checkpoint just before it, if known: a thread's history is a line. */
export function summarise(entry: LogEntry, older?: LogEntry): CheckpointSummary {
  const header = openHeader(entry);
  return {
    checkpointId: entry.checkpointId ?? "",
    seq: entry.seq,
    createdAt: new Date(header.createdAt),
    messageCount: header.messageCount,
    bytes: header.bodyBytes,
    metadata: metadataOf(entry),
    ...(header.standing !== undefined && { standing: header.standing }),
    ...leaseShown(header),
    ...parentOf(header, older),
  };
}

/** A released lease is not shown. An expired one is, because its holder may have died. */
function leaseShown({ thread }: RecordHeader): Pick<CheckpointSummary, "lease"> {
  const { owner = "", expiresAt = 0 } = thread?.lease ?? {};
  return expiresAt > 0 ? { lease: { owner, expiresAt: new Date(expiresAt) } } : {};
}

/** A graph's checkpoint names its parent; an agent's checkpoint follows the one before it. */
function parentOf({ graph }: RecordHeader, older: LogEntry | undefined): { parentId?: string } {
  const parentId = graph === undefined ? older?.checkpointId : graph.parent;
  return parentId === undefined ? {} : { parentId };
}

/**
 * A thread whose newest checkpoint cannot be read is still listed by its name: one
 * bad thread must not hide the others.
 */
export function summariseThread({ threadId, head }: ThreadEntry, warnings: Warnings): ThreadSummary {
  try {
    const isGraph = openHeader(head).graph !== undefined;
    return { threadId, ...summarise(head), ...(isGraph && { isGraph }) };
  } catch (error) {
    warnings.note(error, threadId);
    return { threadId, checkpointId: head.checkpointId ?? "" };
  }
}

/** Those that can be named and no more come last. */
export function summariseThreads({ items, cursor, warnings }: FoundThreads): Page<ThreadSummary> {
  const shown = items.filter(isReadable).map((thread) => summariseThread(thread, warnings));
  const named = namesOfUnreadable(items).map((threadId) => ({ threadId, checkpointId: "" }));
  return page([...shown, ...named], cursor, warnings.list);
}

export function threadIds({ items, cursor, warnings }: FoundThreads): Page<string> {
  const shown = items.filter(isReadable).map(({ threadId }) => threadId);
  return page([...shown, ...namesOfUnreadable(items)], cursor, warnings.list);
}

const namesOfUnreadable = (items: readonly ListedThread[]): readonly string[] =>
  items.filter(isUnreadableThread).flatMap(({ threadId }) => threadId ?? []);

export const metadataOf = (entry: LogEntry): Readonly<Record<string, unknown>> =>
  entry.metadata === undefined ? {} : decodeMetadata(entry.metadata, `the metadata of record ${entry.seq}`);

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
