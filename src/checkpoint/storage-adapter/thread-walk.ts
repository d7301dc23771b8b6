import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/in-parallel.ts";
import type { LogPage, ThreadEntry } from "../thread-log.ts";
import type { Documents } from "./documents.ts";
import { entryOf } from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";

interface WalkOptions {
  readonly prefix: string;
  readonly cursor?: string;
  readonly limit: number;
}

interface Met {
  readonly key: string;
  readonly thread: ThreadEntry | undefined;
  readonly isDamaged: boolean;
}

/** Sorts behind every key. */
const END = "~";

/**
 * Walks through the threads in the order of their keys, which is that of their
 * ids' hashes. A damaged one must neither be skipped silently nor block the
 * others: the walk goes on, its cursor remembers the first, and the walk ends
 * with the error that names it.
 */
export async function walkThreads(documents: Documents, options: WalkOptions): Promise<LogPage<ThreadEntry>> {
  const { prefix, cursor = "", limit } = options;
  const [after = "", known] = cursor.split("!");
  let damaged = known;
  const items: ThreadEntry[] = [];
  const keys = after === END ? [] : await documents.threadKeys(after);
  let last = after;
  for (let start = 0; start < keys.length; start += limit + 1) {
    for (const { key, thread, isDamaged } of await meet(documents, keys.slice(start, start + limit + 1), prefix)) {
      if (thread !== undefined && items.length === limit) return { items, cursor: cursorOf(last, damaged) };
      last = key;
      if (thread !== undefined) items.push(thread);
      if (isDamaged) damaged ??= key;
    }
  }
  if (damaged === undefined) return { items, cursor: undefined };
  if (items.length > 0) return { items, cursor: cursorOf(END, damaged) };
  const repaired = await headAt(documents, damaged, prefix);
  return { items: repaired === undefined ? [] : [repaired], cursor: undefined };
}

const cursorOf = (after: string, damaged: string | undefined): string =>
  damaged === undefined ? after : `${after}!${damaged}`;

const meet = (documents: Documents, keys: readonly string[], prefix: string): Promise<readonly Met[]> =>
  inParallel(keys, async (key) => {
    try {
      return { key, thread: await headAt(documents, key, prefix), isDamaged: false };
    } catch (error) {
      if (!StateError.is(error, "CORRUPT") && !StateError.is(error, "INCOMPATIBLE")) throw error;
      return { key, thread: undefined, isDamaged: true };
    }
  });

const headAt = (documents: Documents, key: string, prefix: string): Promise<ThreadEntry | undefined> =>
  documents.attemptAt(key, async ({ document }) => {
    if (document?.thread === undefined || !document.threadId.startsWith(prefix)) return undefined;
    const { threadId, thread } = document;
    const head = await new ThreadReader(documents, thread).entryAt(thread.tail.head);
    return head && { threadId, head: entryOf(head) };
  });
