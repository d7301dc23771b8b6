import { StateError } from "../../errors.ts";
import { AT_ONCE, inParallel } from "../../internal/in-parallel.ts";
import type { LogPage, ThreadEntry } from "../thread-log.ts";
import { isThreadName, namePrefix } from "./layout.ts";
import { untilNotOvertaken } from "./overtaken.ts";
import { ThreadReader } from "./thread-reader.ts";
import type { ThreadStore } from "./thread-store.ts";

export interface WalkOptions {
  readonly prefix: string;
  readonly cursor?: string;
  readonly limit: number;
}

/** The most names that one request lists. */
const NAMES_AT_ONCE = 1000;

/** In the order of the objects' names. The cursor is the name of the last thread that was given. */
export async function walkThreads(store: ThreadStore, options: WalkOptions): Promise<LogPage<ThreadEntry>> {
  const { prefix, cursor, limit } = options;
  if (cursor !== undefined && !isThreadName(cursor)) throw foreignCursor();
  const items: (ThreadEntry & { readonly name: string })[] = [];
  for await (const names of threadNames(store, prefix, cursor, limit)) {
    for (let start = 0; start < names.length; start += AT_ONCE) {
      const some = await inParallel(names.slice(start, start + AT_ONCE), (name) => readHead(store, name, prefix));
      items.push(...some.filter((item) => item !== undefined));
      if (items.length > limit) {
        const shown = items.slice(0, limit);
        return { items: shown.map(withoutName), cursor: shown.at(-1)?.name };
      }
    }
  }
  return { items: items.map(withoutName), cursor: undefined };
}

async function* threadNames(
  store: ThreadStore,
  prefix: string,
  cursor: string | undefined,
  limit: number,
): AsyncGenerator<readonly string[], void, undefined> {
  const { documents } = store.layout;
  const startAfter = cursor === undefined ? {} : { startAfter: `${documents}${cursor}` };
  const some = { prefix: `${documents}${namePrefix(prefix)}`, limit: Math.min(NAMES_AT_ONCE, limit + 1) };
  for await (const objects of store.bucket.list({ ...some, ...startAfter })) {
    yield objects.map((object) => object.slice(documents.length)).filter(isThreadName);
  }
}

const readHead = (
  store: ThreadStore,
  name: string,
  prefix: string,
): Promise<(ThreadEntry & { readonly name: string }) | undefined> =>
  untilNotOvertaken(
    () => store.loadNamed(name),
    async ({ document }) => {
      if (document?.thread === undefined || !document.threadId.startsWith(prefix)) return undefined;
      const { threadId, thread } = document;
      const reader = new ThreadReader(store, threadId, thread);
      const head = await reader.entryAt(reader.tail.head);
      return head && { name, threadId, head };
    },
  );

const withoutName = ({ threadId, head }: ThreadEntry): ThreadEntry => ({ threadId, head });

const foreignCursor = (): StateError =>
  new StateError("INVALID_ARGUMENT", "this cursor was not made by this backend; hand back page.cursor as it is");
