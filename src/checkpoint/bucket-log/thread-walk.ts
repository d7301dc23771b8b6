import { StateError } from "../../errors.ts";
import { AT_ONCE, inParallel } from "../../internal/in-parallel.ts";
import type { LogPage, ThreadEntry } from "../thread-log.ts";
import { isThreadName, namePrefix } from "./layout.ts";
import { untilNotOvertaken } from "./overtaken.ts";
import { ThreadReader } from "./thread-reader.ts";
import type { ThreadStore } from "./thread-store.ts";
import { cursorOf, END, MORE, progressFrom, type WalkProgress, withDamaged } from "./walk-cursor.ts";

export interface WalkOptions {
  readonly prefix: string;
  readonly cursor?: string;
  readonly limit: number;
}

/** The most names that one request lists. */
const NAMES_AT_ONCE = 1000;

/**
 * Walks through the threads in the order of their objects' names. A damaged one
 * must neither be skipped silently nor block the others: the cursor remembers it,
 * and the walk ends with the error that names it.
 */
export async function walkThreads(store: ThreadStore, options: WalkOptions): Promise<LogPage<ThreadEntry>> {
  const { prefix, limit } = options;
  let { after, damaged } = progressFrom(options.cursor);
  if (after === END) return rereadDamaged(store, damaged, options);
  const items: ThreadEntry[] = [];
  for await (const names of threadNames(store, prefix, after, limit)) {
    for (let start = 0; start < names.length; start += AT_ONCE) {
      for (const { name, thread } of await readSome(store, names.slice(start, start + AT_ONCE), prefix)) {
        const isOneTooMany = items.length === limit && thread !== undefined && thread !== DAMAGED;
        if (isOneTooMany) return { items, cursor: cursorOf({ after, damaged }) };
        after = name;
        if (thread === DAMAGED) damaged = withDamaged(damaged, name);
        else if (thread !== undefined) items.push(thread);
      }
    }
  }
  if (damaged.length === 0) return { items, cursor: undefined };
  return items.length === 0
    ? rereadDamaged(store, damaged, options)
    : { items, cursor: cursorOf({ after: END, damaged }) };
}

async function* threadNames(
  store: ThreadStore,
  prefix: string,
  after: string,
  limit: number,
): AsyncGenerator<readonly string[], void, undefined> {
  const { documents } = store.layout;
  const startAfter = after === "" ? {} : { startAfter: `${documents}${after}` };
  const some = { prefix: `${documents}${namePrefix(prefix)}`, limit: Math.min(NAMES_AT_ONCE, limit + 1) };
  for await (const objects of store.bucket.list({ ...some, ...startAfter })) {
    yield objects.map((object) => object.slice(documents.length)).filter(isThreadName);
  }
}

const DAMAGED: unique symbol = Symbol("holdfast.bucket-log.damaged");

interface Met {
  readonly name: string;
  readonly thread: ThreadEntry | typeof DAMAGED | undefined;
}

const readSome = (store: ThreadStore, names: readonly string[], prefix: string): Promise<readonly Met[]> =>
  inParallel(names, async (name) => {
    try {
      return { name, thread: await readHead(store, name, prefix) };
    } catch (error) {
      if (StateError.is(error, "CORRUPT") || StateError.is(error, "INCOMPATIBLE")) return { name, thread: DAMAGED };
      throw error;
    }
  });

const readHead = (store: ThreadStore, name: string, prefix: string): Promise<ThreadEntry | undefined> =>
  untilNotOvertaken<ThreadEntry | undefined>(
    () => store.loadNamed(name),
    async ({ document }) => {
      if (document?.thread === undefined || !document.threadId.startsWith(prefix)) return undefined;
      const { threadId, thread } = document;
      const reader = new ThreadReader(store, threadId, thread);
      const head = await reader.entryAt(reader.tail.head);
      return head && { threadId, head };
    },
  );

/** Throws for the first that is still damaged. Those repaired meanwhile are returned like any other. */
async function rereadDamaged(
  store: ThreadStore,
  damaged: WalkProgress["damaged"],
  { prefix, limit }: WalkOptions,
): Promise<LogPage<ThreadEntry>> {
  const names = damaged.filter((name) => name !== MORE).slice(0, limit);
  if (damaged[0] === MORE) throw tooManyDamaged();
  const threads = await inParallel(names, (name) => readHead(store, name, prefix));
  const rest = damaged.slice(names.length);
  const items = threads.filter((thread) => thread !== undefined);
  return { items, cursor: rest.length === 0 ? undefined : cursorOf({ after: END, damaged: rest }) };
}

const tooManyDamaged = (): StateError =>
  new StateError(
    "CORRUPT",
    "more threads could not be read on the way than a cursor can name, and those it names are repaired. List the threads again from the start",
  );
