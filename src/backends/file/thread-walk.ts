import type { LogPage, ThreadEntry } from "../../checkpoint/thread-log.ts";
import { StateError } from "../../errors.ts";
import { AT_ONCE, inParallel } from "../../internal/in-parallel.ts";
import { directoryPrefix, isThreadDirectoryName } from "./layout.ts";
import type { RootDirectory } from "./root.ts";
import { readThread, type Snapshot } from "./snapshot.ts";

interface WalkOptions {
  readonly prefix: string;
  readonly cursor?: string;
  readonly limit: number;
}

/** How far a walk has come: the last directory, and those that could not be read on the way. */
interface Progress {
  readonly after: string;
  readonly damaged: readonly string[];
}

/** Sorts behind the name of every thread's directory. */
const END = "~";

/**
 * Walks through the threads in the order of their directories' names. One that
 * is damaged must neither be passed over in silence nor stand in the way of the
 * others for ever: it is put off to the end of the walk, where the error names
 * it after everything that could be read was given.
 */
export async function walkThreads(root: RootDirectory, options: WalkOptions): Promise<LogPage<ThreadEntry>> {
  const { limit, prefix } = options;
  const { after, damaged } = progressFrom(options.cursor);
  if (after === END) return rereadDamaged(root, damaged, options);
  const start = directoryPrefix(prefix);
  const names = (await root.list())
    .filter((name) => name > after && name.startsWith(start) && isThreadDirectoryName(name))
    .sort();
  const items: ThreadEntry[] = [];
  const putOff = [...damaged];
  let last = after;
  while (names.length > 0) {
    const some = names.splice(0, Math.min(AT_ONCE, limit + 1 - items.length));
    for (const { name, thread } of await readSome(root, some, prefix)) {
      const isOneTooMany = items.length === limit && thread !== undefined && thread !== DAMAGED;
      if (isOneTooMany) return { items, cursor: cursorOf({ after: last, damaged: putOff }) };
      last = name;
      if (thread === DAMAGED) putOff.push(name);
      else if (thread !== undefined) items.push(thread);
    }
  }
  if (putOff.length === 0) return { items, cursor: undefined };
  if (items.length === 0) return rereadDamaged(root, putOff, options);
  return { items, cursor: cursorOf({ after: END, damaged: putOff }) };
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

/** Throws for the first that is still damaged. Those repaired meanwhile are given like any other. */
async function rereadDamaged(
  root: RootDirectory,
  names: readonly string[],
  { prefix, limit }: WalkOptions,
): Promise<LogPage<ThreadEntry>> {
  const some = names.slice(0, limit);
  const threads = await inParallel(some, (name) => readHead(root, name, prefix));
  const rest = names.slice(limit);
  const items = threads.filter((thread) => thread !== undefined);
  return { items, cursor: rest.length === 0 ? undefined : cursorOf({ after: END, damaged: rest }) };
}

const cursorOf = ({ after, damaged }: Progress): string => [after, ...damaged].join("!");

function progressFrom(cursor: string | undefined): Progress {
  if (cursor === undefined) return { after: "", damaged: [] };
  const [after = "", ...damaged] = cursor.split("!");
  if ((after === END || isThreadDirectoryName(after)) && damaged.every(isThreadDirectoryName))
    return { after, damaged };
  throw new StateError("INVALID_ARGUMENT", "this cursor was not made by this backend; hand back page.cursor as it is");
}
