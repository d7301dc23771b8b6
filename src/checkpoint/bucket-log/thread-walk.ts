import { StateError } from "../../errors.ts";
import { AT_ONCE, inParallel } from "../../internal/concurrency.ts";
import { unreadableThread } from "../log/listed-threads.ts";
import type { ListedThread, LogPage } from "../log/thread-log.ts";
import { ThreadReader } from "./thread-reader.ts";
import { type ThreadStore, untilNotOvertaken } from "./thread-store.ts";

export interface WalkOptions {
  readonly prefix: string;
  readonly cursor?: string;
  readonly limit: number;
}

/** The most names that one request lists. */
const NAMES_AT_ONCE = 1000;

/** Walks through the threads in the order of their objects' names. The last name that was read is the cursor. */
export async function walkThreads(store: ThreadStore, options: WalkOptions): Promise<LogPage<ListedThread>> {
  const { prefix, limit, cursor } = options;
  if (cursor !== undefined && !store.layout.isName(cursor)) throw foreignCursor();
  const items: ListedThread[] = [];
  let after = cursor;
  for await (const names of threadNames(store, prefix, after, limit)) {
    for (let start = 0; start < names.length; start += AT_ONCE) {
      for (const { name, thread } of await readSome(store, names.slice(start, start + AT_ONCE), prefix)) {
        if (items.length === limit && thread !== undefined) return { items, cursor: after };
        after = name;
        if (thread !== undefined) items.push(thread);
      }
    }
  }
  return { items, cursor: undefined };
}

async function* threadNames(
  store: ThreadStore,
  prefix: string,
  after: string | undefined,
  limit: number,
): AsyncGenerator<readonly string[], void, undefined> {
  const { layout } = store;
  const { documents } = layout;
  const startAfter = after === undefined ? {} : { startAfter: `${documents}${after}` };
  const some = { prefix: `${documents}${layout.beginning(prefix)}`, pageSize: Math.min(NAMES_AT_ONCE, limit + 1) };
  for await (const objects of store.bucket.list({ ...some, ...startAfter })) {
    yield objects.map((object) => object.slice(documents.length)).filter((name) => layout.isName(name));
  }
}

interface Met {
  readonly name: string;
  readonly thread: ListedThread | undefined;
}

const readSome = (store: ThreadStore, names: readonly string[], prefix: string): Promise<readonly Met[]> =>
  inParallel(names, async (name) => {
    try {
      return { name, thread: await readHead(store, name, prefix) };
    } catch (error) {
      const thread = unreadableThread(store.layout.idOf(name), error);
      return { name, thread: thread.threadId?.startsWith(prefix) === false ? undefined : thread };
    }
  });

const readHead = (store: ThreadStore, name: string, prefix: string): Promise<ListedThread | undefined> =>
  untilNotOvertaken<ListedThread | undefined>(
    () => store.loadNamed(name),
    async ({ document }) => {
      if (document?.thread === undefined || !document.threadId.startsWith(prefix)) return undefined;
      const { threadId, thread } = document;
      const reader = new ThreadReader(store, threadId, thread);
      const head = await reader.entryAt(reader.tail.head);
      return head && { threadId, head };
    },
  );

const foreignCursor = (): StateError =>
  new StateError("INVALID_ARGUMENT", "this cursor was not made by this backend; hand back page.cursor as it is");
