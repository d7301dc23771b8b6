import { constants, type FileHandle, open, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { inParallel } from "../../internal/concurrency.ts";
import { sleep } from "../../internal/time.ts";
import { codeOf, ignoreIfGone, isGone } from "./classify.ts";

/** Makes creations, renames and removals in a directory durable. Windows has no such call. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * A file system without a journal may give the inode of a removed file to a new one
 * before it writes that the old name is gone. After a power cut the old name is back and
 * leads to the new file, or takes a new directory away from its own name. A file that is
 * open keeps its inode: so it is opened before its name goes, and closed when the
 * directory is on the disk without the name.
 */
export class Removals {
  readonly #directory: string;
  readonly #open: { readonly handle: FileHandle; readonly isDirectory: boolean }[] = [];

  /** The directory whose names are removed or replaced. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** To be called before the name is removed, or another file takes it. `settle` must follow. */
  async keep(name: string, isDirectory = false): Promise<void> {
    if (process.platform === "win32") return;
    if (this.#open.length >= MOST_OPEN) await this.settle();
    // A symbolic link, or what may not be opened, goes without this.
    const handle = await open(join(this.#directory, name), KEEPING).catch(() => undefined);
    if (handle !== undefined) this.#open.push({ handle, isDirectory });
  }

  /** Removes a file or an empty directory; one that is gone already is no failure. */
  async remove(name: string, isDirectory = false): Promise<void> {
    await this.keep(name, isDirectory);
    const path = join(this.#directory, name);
    await (isDirectory ? rmdir(path) : unlink(path)).catch(ignoreIfGone);
  }

  /** Returns when the removals are on the disk. A directory that is gone by now keeps no names. */
  async settle(): Promise<void> {
    try {
      await syncDirectory(this.#directory).catch(ignoreIfGone);
    } finally {
      await inParallel(this.#open.splice(0), async ({ handle, isDirectory }) => {
        // On the disk it would still be a directory, and might take what a later one has in the same block.
        if (isDirectory) await handle.sync().catch(() => undefined);
        await handle.close();
      });
    }
  }
}

const MOST_OPEN = 128;
/** Neither follows a symbolic link nor waits for a writer on the other end of a pipe. */
const KEEPING = process.platform === "win32" ? "r" : constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Removes files from a directory, and returns when that is on the disk. */
export async function removeFiles(directory: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const removals = new Removals(directory);
  try {
    for (const name of names) await removals.remove(name);
  } finally {
    await removals.settle();
  }
}

/** So often, a writer that is only slow may put a file into a directory that goes. */
const MOST_ATTEMPTS = 6;
const REFILLED: ReadonlySet<string | undefined> = new Set(["ENOTEMPTY", "EEXIST", "EBUSY", "EPERM"]);

/** Removes a directory with all that is in it, or a file, and returns when that is on the disk. */
export async function removeTree(directory: string, name: string): Promise<void> {
  const removals = new Removals(directory);
  for (let attempt = 1; ; attempt++) {
    try {
      await removals.remove(name, await isEmptied(join(directory, name)));
      return;
    } catch (error) {
      if (isGone(error)) return;
      if (!REFILLED.has(codeOf(error)) || attempt === MOST_ATTEMPTS) throw error;
      await sleep(20);
    } finally {
      await removals.settle();
    }
  }
}

/** False for a file. */
async function isEmptied(path: string): Promise<boolean> {
  try {
    await empty(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOTDIR") return false;
    throw error;
  }
}

/** Directories first: they may still have names of the files, on the disk if not here. */
async function empty(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true });
  const directories = entries.filter((entry) => entry.isDirectory());
  await inParallel(directories, ({ name }) => empty(join(directory, name)));
  const removals = new Removals(directory);
  try {
    for (const entry of entries) await removals.remove(entry.name, entry.isDirectory());
  } finally {
    await removals.settle();
  }
}
