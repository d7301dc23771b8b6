import type { LogEntry, LogRecord, ThreadTail } from "../log/thread-log.ts";
import { bodyKey, lastOfPage, type Placed, type Placing } from "./layout.ts";

/** The content of `holdfast-thread-…`. */
export interface ThreadDocument {
  readonly threadId: string;
  /** Grows with every write, so that no two documents of a thread are equal. */
  readonly revision: number;
  /** Missing if there is no thread and only something to clean up. */
  readonly thread?: StoredThread;
  /** Copies to this thread that may be under way. The first to finish becomes the thread. */
  readonly copying: readonly Leftover[];
  /** Threads that have ended and whose keys are to be deleted. */
  readonly leftovers: readonly Leftover[];
}

export const emptyDocument = (threadId: string): ThreadDocument => ({
  threadId,
  revision: 0,
  copying: [],
  leftovers: [],
});

export interface StoredThread extends Placing {
  readonly generation: string;
  readonly tail: StoredEntry;
  readonly tailBody: StoredBody;
  /** The entries on the tail's page, without the tail. Earlier entries are on earlier pages. */
  readonly recent: readonly StoredEntry[];
  /** Records below this position are dropped. */
  readonly floor: number;
  /** The keys of records below this position are gone. */
  readonly swept: number;
  /** Pages and bodies that already count and must still be written to their own keys. */
  readonly toWrite: readonly Part[];
  /** Keys that no longer count and must still be deleted. */
  readonly toDelete: readonly string[];
}

/** Enough of a thread to find all of its keys. */
export interface Leftover extends Placing {
  readonly swept: number;
  readonly tail: Placed;
  readonly recent: readonly Placed[];
  /** For a copy: how many of its keys the last sweep found. */
  readonly seen?: number;
}

export interface StoredEntry extends Placed {
  readonly writeId: string;
  readonly base: number;
  readonly head: number;
  readonly checkpointId?: string;
  readonly names?: readonly string[];
  readonly header: string;
  readonly metadata?: string;
}

export const placedTail = (thread: StoredThread | undefined): ThreadTail | undefined =>
  thread && { generation: thread.generation, entry: entryOf(thread.tail) };

/**
 * Text stays text, so that a person can read it; other bytes become base64. Never
 * nested JSON, because many storages reorder keys.
 */
export type StoredBody = string | { readonly base64: string };

export interface BodyContent {
  readonly seq: number;
  readonly body: StoredBody;
}

export interface PageContent {
  readonly page: number;
  readonly entries: readonly StoredEntry[];
}

/** What lies under a key of its own. */
export interface Part {
  readonly key: string;
  readonly content: BodyContent | PageContent;
}

export function storedEntry(record: LogEntry, version?: number): StoredEntry {
  const { seq, writeId, base, head, checkpointId, names, header, metadata } = record;
  return {
    seq,
    ...(version !== undefined && { version }),
    writeId,
    base,
    head,
    ...(checkpointId !== undefined && { checkpointId }),
    ...(names !== undefined && { names: [...names] }),
    header,
    ...(metadata !== undefined && { metadata }),
  };
}

export const entryOf = ({
  seq,
  writeId,
  base,
  head,
  checkpointId,
  names,
  header,
  metadata,
}: StoredEntry): LogEntry => ({
  seq,
  writeId,
  base,
  head,
  checkpointId,
  ...(names !== undefined && { names }),
  header,
  metadata,
});

export const recordOf = (entry: StoredEntry, body: StoredBody): LogRecord => ({
  ...entryOf(entry),
  body: typeof body === "string" ? Buffer.from(body, "utf8") : Buffer.from(body.base64, "base64"),
  words: undefined,
});

/** NUL is valid text, but some databases refuse it. */
export function storedBody(body: Uint8Array): StoredBody {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const text = bytes.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(bytes) && !text.includes("\u0000");
  return isText ? text : { base64: bytes.toString("base64") };
}

export const bodyPart = (placing: Placing, placed: Placed, body: StoredBody): Part => ({
  key: bodyKey(placing, placed),
  content: { seq: placed.seq, body },
});

/** The thread after all of its pending work is done. */
export const finishedThread = (thread: StoredThread): StoredThread => ({
  ...thread,
  swept: thread.floor,
  editedPages: thread.editedPages.filter(([page]) => lastOfPage(page) >= thread.floor),
  toWrite: [],
  toDelete: [],
});

/** Expects a finished thread. Keeps nothing of its contents. */
export const leftoverOf = ({ incarnation, editedPages, swept, tail, recent }: StoredThread): Leftover => ({
  incarnation,
  editedPages,
  swept,
  tail: placeOf(tail),
  recent: recent.map(placeOf),
});

const placeOf = ({ seq, version }: Placed): Placed => (version === undefined ? { seq } : { seq, version });
