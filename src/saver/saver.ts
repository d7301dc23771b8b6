/**
 * What a graph needs of its storage: a tree of checkpoints for each thread, and
 * the writes that tasks made on top of a checkpoint before the next one was put.
 *
 * A checkpoint is known by (thread, namespace, id). The root graph has the
 * namespace "", a subgraph has one of its own. Ids are opaque and ordered as
 * text: the *newest* of a namespace is the one with the greatest id, whenever it
 * was put. Make ids that grow (`newCheckpointId()`).
 */

import { newId } from "../driver/ids.ts";
import type { Page } from "../driver/page.ts";
import type { ThreadWarning } from "../driver/warnings.ts";

export interface PutRequest {
  readonly threadId: string;
  readonly checkpointId: string;
  /** Plain data. Putting an existing id replaces it; its children keep what they were built on. */
  readonly checkpointData: Readonly<Record<string, unknown>>;
  /** @default "" */
  readonly checkpointNs?: string;
  /** The checkpoint, of the same namespace, that this one follows. */
  readonly parentId?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export type ChannelWrite = readonly [channel: string, value: unknown];

export interface PutWritesRequest {
  readonly threadId: string;
  /** May be put later: the writes wait for it. */
  readonly checkpointId: string;
  readonly taskId: string;
  /** Kept by (task, position): the first write wins, so that a retry changes nothing. An empty list does nothing. */
  readonly writes: readonly ChannelWrite[];
  /** @default "" */
  readonly checkpointNs?: string;
}

export interface GetRequest {
  readonly threadId: string;
  /** @default "" */
  readonly checkpointNs?: string;
  /** @default the newest of the namespace */
  readonly checkpointId?: string;
}

export interface PendingWrite {
  readonly taskId: string;
  /** Its position in the call; below 0 for the channels of `SPECIAL_CHANNELS`. */
  readonly index: number;
  readonly channel: string;
  readonly value: unknown;
}

/** A checkpoint as a list shows it. */
export interface CheckpointInfo {
  readonly threadId: string;
  readonly checkpointNs: string;
  readonly checkpointId: string;
  readonly parentId: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Milliseconds since 1970, when it was put. For people and `prune`, never for order. */
  readonly createdAt: number;
}

export interface SavedCheckpoint extends CheckpointInfo {
  readonly checkpointData: Readonly<Record<string, unknown>>;
  /** In the order of (task, position). */
  readonly pendingWrites: readonly PendingWrite[];
}

/** Reads no values until `load` is called; the checkpoints of one list share what they read. */
export interface ListedCheckpoint extends CheckpointInfo {
  /** `undefined` when it was deleted meanwhile. */
  load(): Promise<SavedCheckpoint | undefined>;
}

export interface ListRequest {
  /** @default every thread */
  readonly threadId?: string;
  /** @default every namespace */
  readonly checkpointNs?: string;
  readonly checkpointId?: string;
  /** Only checkpoints with smaller ids. */
  readonly before?: string;
  /** 0 returns nothing. @default all of them */
  readonly limit?: number;
  /** Only checkpoints whose metadata has every one of these values. Keys are names, never paths or patterns. */
  readonly filter?: Readonly<Record<string, unknown>>;
}

export interface PruneRequest {
  /** @default every thread */
  readonly threadId?: string;
  /** How many checkpoints each namespace keeps, the newest. */
  readonly keepLast?: number;
  /** Checkpoints put before this go, except the newest of each namespace. */
  readonly olderThan?: Date;
}

export interface DeleteForRunsRequest {
  /** Checkpoints whose metadata has one of these as `run_id`. */
  readonly runIds: readonly string[];
  /** @default every thread */
  readonly threadId?: string;
}

export interface RemovedReport {
  readonly threads: number;
  readonly checkpoints: number;
  /** Threads that were passed over because they cannot be read, and why; absent where there were none. */
  readonly warnings?: readonly ThreadWarning[];
}

export interface ListThreadsRequest {
  readonly prefix?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** A versioned history with pending writes, on any storage. */
export interface Saver {
  put(request: PutRequest): Promise<void>;
  putWrites(request: PutWritesRequest): Promise<void>;
  get(request: GetRequest): Promise<SavedCheckpoint | undefined>;
  /** The greatest id first; of several threads one after another. */
  listCheckpoints(request?: ListRequest): Promise<readonly ListedCheckpoint[]>;
  /** With all namespaces and writes. False when it is not there. */
  deleteThread(threadId: string): Promise<boolean>;
  /** The whole history to a new thread. False when the source is not there. */
  copyThread(source: string, target: string): Promise<boolean>;
  prune(request: PruneRequest): Promise<RemovedReport>;
  deleteForRuns(request: DeleteForRunsRequest): Promise<RemovedReport>;
  listThreads(request?: ListThreadsRequest): Promise<Page<string>>;
  connect?(): Promise<unknown>;
  close(): Promise<void>;
}

/** Channels whose writes replace an earlier one of the same task, when a call has no others; each has a fixed position. */
export const SPECIAL_CHANNELS: ReadonlyMap<string, number> = new Map([
  ["__error__", -1],
  ["__scheduled__", -2],
  ["__interrupt__", -3],
  ["__resume__", -4],
]);

/** A call replaces what it wrote before only when nothing but special channels is in it. */
export const replacesEarlier = (writes: readonly ChannelWrite[]): boolean =>
  writes.every(([channel]) => SPECIAL_CHANNELS.has(channel));

/** Where a write of a call is kept: its position, or the fixed one of a special channel. */
export const writeIndex = (channel: string, position: number): number => SPECIAL_CHANNELS.get(channel) ?? position;

/** By task, then by position. Text is ordered by code units, which is the same everywhere. */
export function inWriteOrder<Write extends Pick<PendingWrite, "taskId" | "index">>(writes: Iterable<Write>): Write[] {
  return [...writes].sort((a, b) => (a.taskId === b.taskId ? a.index - b.index : a.taskId < b.taskId ? -1 : 1));
}

let last = 0;

/**
 * An id that is greater, as text, than every one this process made before: the
 * time, a count within the millisecond, and chance against other processes.
 */
export function newCheckpointId(now: number = Date.now()): string {
  last = Math.max(now * 4096, last + 1);
  return `${last.toString(16).padStart(14, "0")}-${newId()}`;
}
