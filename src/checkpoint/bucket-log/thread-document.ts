import type { LogEntry, ThreadTail } from "../log/thread-log.ts";
import { newRandomName } from "./layout.ts";
import {
  damaged,
  inlineBodies,
  packObject,
  recordsFromJson,
  recordsToJson,
  type StoredRecord,
  unpackObject,
} from "./stored-object.ts";

/** The content of `threads/<name>`. */
export interface ThreadDocument {
  readonly threadId: string;
  /** Unique to every written document: an attempt whose answer was lost recognises its own document by it. */
  readonly revision: string;
  /** Missing if there is no thread and only something to clean up. */
  readonly thread: StoredThread | undefined;
  /** Lives that may be under way: copies to this thread, and first saves of many objects. The first to finish becomes the thread. */
  readonly copying: readonly OtherLife[];
  /** Lives that have ended and whose objects are to be deleted. */
  readonly over: readonly OtherLife[];
}

/** A life that is not the thread. */
export interface OtherLife {
  readonly life: string;
  /** Its parts, where the bucket cannot list them. */
  readonly parts?: readonly string[];
  /** Of one that may be under way: how many objects a sweep found of it. One that has no more at a sweep that began later is given up. */
  readonly seen?: number;
}

export interface StoredThread {
  readonly life: string;
  readonly generation: string;
  /** No record is below this position. */
  readonly floor: number;
  /** Nothing of a record below this position is left in the bucket. */
  readonly swept: number;
  /** The pages with every record before the recent ones, ascending. */
  readonly pages: readonly StoredPage[];
  /** The newest records, ascending. Never empty: the last one is the tail. */
  readonly recent: readonly StoredRecord[];
  /** Parts of this life that no longer count. */
  readonly toDelete: readonly string[];
  /** The same, of pages that were merged: nothing is in them that is not in others, so they may wait. */
  readonly stale: readonly string[];
  /** Where the bucket cannot be listed: parts that an append was about to write. They are deleted behind the next commit unless it counts them. */
  readonly pending: readonly string[];
}

/** An object with consecutive records. */
export interface StoredPage {
  readonly first: number;
  readonly last: number;
  readonly suffix: string;
  readonly records: number;
  /** The size of the object. */
  readonly bytes: number;
  /** In how many objects it lies. @default 1 */
  readonly pieces?: number;
}

export function tailOf({ recent }: Pick<StoredThread, "recent">): LogEntry {
  const tail = recent.at(-1);
  if (tail === undefined) throw new Error("a thread without a tail");
  return tail.entry;
}

export const placedTail = (thread: StoredThread | undefined): ThreadTail | undefined =>
  thread && { generation: thread.generation, entry: tailOf(thread) };

export const documentOf = (
  threadId: string,
  parts: Pick<ThreadDocument, "thread"> & Partial<Pick<ThreadDocument, "copying" | "over">>,
): ThreadDocument => ({ copying: [], over: [], ...parts, threadId, revision: newRandomName() });

/** Whether nothing is left to delete. */
export const isFinished = ({ thread, over }: Pick<ThreadDocument, "thread" | "over">): boolean =>
  over.length === 0 && (thread === undefined || (thread.toDelete.length === 0 && !isUnswept(thread)));

/** Whether objects of records below the floor may still exist. */
export const isUnswept = ({ swept, floor }: StoredThread): boolean => swept < floor;

/** The same thread after its deletions were carried out. */
export const finishedThread = (thread: StoredThread): StoredThread => ({
  ...thread,
  swept: thread.floor,
  toDelete: [],
});

export function packDocument({ thread, ...document }: ThreadDocument): Buffer {
  if (thread === undefined) return packObject(document);
  const { recent, ...rest } = thread;
  const content = { ...rest, recent: recordsToJson(recent) };
  return packObject({ ...document, thread: content }, inlineBodies(recent));
}

type ThreadJson = Omit<StoredThread, "recent"> & { readonly recent: unknown };

export function unpackDocument(name: string, bytes: Buffer): ThreadDocument {
  const { content, bodies } = unpackObject(name, bytes);
  const { thread, ...document } = content as unknown as Omit<ThreadDocument, "thread"> & { thread?: ThreadJson };
  if (thread === undefined) return { ...document, thread: undefined };
  const recent = recordsFromJson(name, thread.recent, bodies);
  if (recent.length === 0) throw damaged(name, "holds no record");
  return { ...document, thread: { ...thread, recent } };
}
