import { inParallel } from "../../internal/concurrency.ts";
import { unreadableThread } from "../log/listed-threads.ts";
import type { ListedThread, LogPage } from "../log/thread-log.ts";
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
  readonly thread: ListedThread | undefined;
}

/**
 * Walks through the threads in the order of their keys, which is that of their
 * ids' hashes. A key does not tell the id: a document that cannot be read may be
 * of any thread.
 */
export async function walkThreads(documents: Documents, options: WalkOptions): Promise<LogPage<ListedThread>> {
  const { prefix, cursor = "", limit } = options;
  const items: ListedThread[] = [];
  const keys = await documents.threadKeys(cursor);
  let last = cursor;
  for (let start = 0; start < keys.length; start += limit + 1) {
    for (const { key, thread } of await meet(documents, keys.slice(start, start + limit + 1), prefix)) {
      if (thread !== undefined && items.length === limit) return { items, cursor: last };
      last = key;
      if (thread !== undefined) items.push(thread);
    }
  }
  return { items, cursor: undefined };
}

const meet = (documents: Documents, keys: readonly string[], prefix: string): Promise<readonly Met[]> =>
  inParallel(keys, async (key) => {
    try {
      return { key, thread: await headAt(documents, key, prefix) };
    } catch (error) {
      return { key, thread: unreadableThread(undefined, error) };
    }
  });

const headAt = (documents: Documents, key: string, prefix: string): Promise<ListedThread | undefined> =>
  documents.attemptAt(key, async ({ document }) => {
    if (document?.thread === undefined || !document.threadId.startsWith(prefix)) return undefined;
    const { threadId, thread } = document;
    const head = await new ThreadReader(documents, thread).entryAt(thread.tail.head);
    return head && { threadId, head: entryOf(head) };
  });
