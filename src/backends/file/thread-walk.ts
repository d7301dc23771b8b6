import { unreadableThread } from "../../checkpoint/log/listed-threads.ts";
import type { ListedThread, LogPage } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import { AT_ONCE, inParallel } from "../../internal/concurrency.ts";
import { ownerOf } from "./directory-owner.ts";
import { directoryPrefix, isListingName, isThreadDirectoryName, newListingName } from "./layout.ts";
import type { RootDirectory } from "./root.ts";
import { readThread, type Snapshot } from "./snapshot.ts";

interface WalkOptions {
  readonly prefix: string;
  readonly cursor?: string;
  readonly limit: number;
}

/** How far a walk has come. */
interface Progress {
  /** The listing that the walk uses. */
  readonly listing: string;
  /** The last directory that was read. */
  readonly after: string;
}

interface NamesOfThreads {
  readonly id: string;
  /** Sorted. */
  readonly names: readonly string[];
}

/**
 * Walks through the threads in order of their directory names. A name does not tell
 * the id: a thread of which no file tells it either is in every list that it may belong to.
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

  async page(options: WalkOptions): Promise<LogPage<ListedThread>> {
    const progress = progressFrom(options.cursor);
    const found = await this.#read(await this.#namesFor(progress), progress, options);
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
    { after }: Progress,
    options: WalkOptions,
  ): Promise<LogPage<ListedThread>> {
    const { limit, prefix } = options;
    const start = directoryPrefix(prefix);
    let next = firstFrom(all, after > start ? after : start);
    const items: ListedThread[] = [];
    let last = after;
    while (all[next]?.startsWith(start)) {
      const count = Math.min(AT_ONCE, limit + 1 - items.length);
      const some = all.slice(next, next + count).filter((name) => name !== after && name.startsWith(start));
      next += count;
      for (const { name, thread } of await readSome(this.#root, some, prefix)) {
        if (items.length === limit && thread !== undefined)
          return { items, cursor: cursorOf({ listing, after: last }) };
        last = name;
        if (thread !== undefined) items.push(thread);
      }
    }
    return { items, cursor: undefined };
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

interface Met {
  readonly name: string;
  readonly thread: ListedThread | undefined;
}

const readSome = (root: RootDirectory, names: readonly string[], prefix: string): Promise<readonly Met[]> =>
  inParallel(names, async (name) => {
    try {
      return { name, thread: await readHead(root, name, prefix) };
    } catch (error) {
      const thread = unreadableThread(undefined, error);
      const threadId = await ownerOf(root, name);
      return { name, thread: threadId?.startsWith(prefix) === false ? undefined : { ...thread, threadId } };
    }
  });

const readHead = (root: RootDirectory, name: string, prefix: string): Promise<ListedThread | undefined> =>
  readThread(root, name, async (snapshot: Snapshot) => {
    const { threadId } = snapshot.tail;
    const head = threadId.startsWith(prefix) ? await snapshot.head() : undefined;
    return head && { threadId, head };
  });

const cursorOf = ({ listing, after }: Progress): string => `${listing}!${after}`;

function progressFrom(cursor: string | undefined): Progress {
  if (cursor === undefined) return { listing: "", after: "" };
  const [listing = "", after = "", ...rest] = cursor.split("!");
  if (isListingName(listing) && isThreadDirectoryName(after) && rest.length === 0) return { listing, after };
  throw new StateError("INVALID_ARGUMENT", "this cursor was not made by this backend; hand back page.cursor as it is");
}
