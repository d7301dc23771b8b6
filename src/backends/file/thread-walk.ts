import type { LogPage, ThreadEntry } from "../../checkpoint/thread-log.ts";
import { StateError } from "../../errors.ts";
import { AT_ONCE, inParallel } from "../../internal/in-parallel.ts";
import { directoryPrefix, isListingName, isThreadDirectoryName, newListingName } from "./layout.ts";
import type { RootDirectory } from "./root.ts";
import { readThread, type Snapshot } from "./snapshot.ts";

interface WalkOptions {
  readonly prefix: string;
  readonly cursor?: string;
  readonly limit: number;
}

/** How far a walk has come: the last directory, and those that could not be read on the way. */
interface Progress {
  /** The listing that the walk uses. */
  readonly listing: string;
  readonly after: string;
  readonly damaged: readonly string[];
}

/** Sorts after the name of every thread's directory. */
const END = "~";

interface NamesOfThreads {
  readonly id: string;
  /** Sorted. */
  readonly names: readonly string[];
}

/**
 * Walks through the threads in order of their directory names. A damaged thread must
 * neither be skipped silently nor block the others: it is postponed to the end of
 * the walk, where the error names it after everything readable was returned.
 */
export class ThreadWalk {
  readonly #root: RootDirectory;
  /**
   * Made when a walk begins, and kept for its later pages: listing and sorting a
   * directory of 100,000 threads takes longer than reading a page of them. A cursor
   * names its listing; if that is gone, a new one is made.
   */
  #latest: NamesOfThreads | undefined;

  constructor(root: RootDirectory) {
    this.#root = root;
  }

  async page(options: WalkOptions): Promise<LogPage<ThreadEntry>> {
    const progress = progressFrom(options.cursor);
    const found =
      progress.after === END
        ? await rereadDamaged(this.#root, progress, options)
        : await this.#read(await this.#namesFor(progress), progress, options);
    if (found.cursor === undefined && this.#latest?.id === progress.listing) this.#latest = undefined;
    return found;
  }

  async #namesFor({ listing }: Progress): Promise<NamesOfThreads> {
    if (this.#latest?.id === listing) return this.#latest;
    const names = (await this.#root.list()).filter(isThreadDirectoryName).sort();
    this.#latest = { id: newListingName(), names };
    return this.#latest;
  }

  async #read(
    { id: listing, names: all }: NamesOfThreads,
    { after, damaged }: Progress,
    options: WalkOptions,
  ): Promise<LogPage<ThreadEntry>> {
    const { limit, prefix } = options;
    const start = directoryPrefix(prefix);
    let next = firstFrom(all, after > start ? after : start);
    const items: ThreadEntry[] = [];
    const putOff = [...damaged];
    let last = after;
    while (all[next]?.startsWith(start)) {
      const count = Math.min(AT_ONCE, limit + 1 - items.length);
      const some = all.slice(next, next + count).filter((name) => name !== after && name.startsWith(start));
      next += count;
      for (const { name, thread } of await readSome(this.#root, some, prefix)) {
        const isOneTooMany = items.length === limit && thread !== undefined && thread !== DAMAGED;
        if (isOneTooMany) return { items, cursor: cursorOf({ listing, after: last, damaged: putOff }) };
        last = name;
        if (thread === DAMAGED) putOff.push(name);
        else if (thread !== undefined) items.push(thread);
      }
    }
    const atEnd = { listing, after: END, damaged: putOff };
    if (putOff.length === 0) return { items, cursor: undefined };
    return items.length === 0 ? rereadDamaged(this.#root, atEnd, options) : { items, cursor: cursorOf(atEnd) };
  }
}

/** The index of the first name that does not sort before `least`. */
function firstFrom(names: readonly string[], least: string): number {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((names[middle] ?? "") < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

const DAMAGED: unique symbol = Symbol("holdfast.file.damaged");

interface Met {
  readonly name: string;
  readonly thread: ThreadEntry | typeof DAMAGED | undefined;
}

const readSome = (root: RootDirectory, names: readonly string[], prefix: string): Promise<readonly Met[]> =>
  inParallel(names, async (name) => {
    try {
      return { name, thread: await readHead(root, name, prefix) };
    } catch (error) {
      if (StateError.is(error, "CORRUPT") || StateError.is(error, "INCOMPATIBLE")) return { name, thread: DAMAGED };
      throw error;
    }
  });

const readHead = (root: RootDirectory, name: string, prefix: string): Promise<ThreadEntry | undefined> =>
  readThread(root, name, async (snapshot: Snapshot) => {
    const { threadId } = snapshot.tail;
    const head = threadId.startsWith(prefix) ? await snapshot.head() : undefined;
    return head && { threadId, head };
  });

/** Throws for the first thread that is still damaged. Threads that were repaired meanwhile are returned like any other. */
async function rereadDamaged(
  root: RootDirectory,
  progress: Progress,
  { prefix, limit }: WalkOptions,
): Promise<LogPage<ThreadEntry>> {
  const threads = await inParallel(progress.damaged.slice(0, limit), (name) => readHead(root, name, prefix));
  const rest = progress.damaged.slice(limit);
  const items = threads.filter((thread) => thread !== undefined);
  return { items, cursor: rest.length === 0 ? undefined : cursorOf({ ...progress, damaged: rest }) };
}

const cursorOf = ({ listing, after, damaged }: Progress): string => [listing, after, ...damaged].join("!");

function progressFrom(cursor: string | undefined): Progress {
  if (cursor === undefined) return { listing: "", after: "", damaged: [] };
  const [listing = "", after = "", ...damaged] = cursor.split("!");
  const isOurs = isListingName(listing) && (after === END || isThreadDirectoryName(after));
  if (isOurs && damaged.every(isThreadDirectoryName)) return { listing, after, damaged };
  throw new StateError("INVALID_ARGUMENT", "this cursor was not made by this backend; hand back page.cursor as it is");
}
