import { mkdir, readdir, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { codeOf, ignoreIfGone, isGone } from "./classify.ts";
import { brokenLog } from "./damage.ts";
import { Removals, removeFiles, removeTree, syncDirectory } from "./durable-names.ts";
import { isLogName, type LogPlace, newEditionName, newLogName, newStagingName } from "./layout.ts";
import { erase, type RootDirectory } from "./root.ts";

/** The log of a thread; `undefined` if the thread does not exist. */
export async function findLog(root: RootDirectory, threadDirectory: string): Promise<LogPlace | undefined> {
  const logs = await logsIn(root, threadDirectory);
  if (logs.length > 1) throw brokenLog(threadDirectory, "holds two logs");
  return logs[0];
}

/** More than one only if another was put there by hand. */
export async function logsIn(root: RootDirectory, threadDirectory: string): Promise<readonly LogPlace[]> {
  const path = join(root.path, threadDirectory);
  const names = await readdir(path).catch(async (error: unknown) => {
    if (!isGone(error)) throw error;
    await root.assertThere();
    return [];
  });
  return names.filter(isLogName).map((log) => ({ threadDirectory, log, path: join(path, log) }));
}

export interface NewLog extends LogPlace {
  /** Absolute; it existed before the log became visible. */
  readonly staging: string;
}

/**
 * Makes a thread appear completely or not at all: `undefined` if it exists by then,
 * or if `fill` decides that it must not appear.
 */
export async function publishThread(
  root: RootDirectory,
  threadDirectory: string,
  fill: (draft: LogPlace) => Promise<boolean>,
): Promise<NewLog | undefined> {
  const [log, staging, draft] = [newLogName(), newStagingName(), root.temporaryPath()];
  const target = join(root.path, threadDirectory);
  const replaced = new Removals(root.path);
  let isPublished = false;
  try {
    const path = join(draft, log);
    const inside = [join(path, staging), join(path, newEditionName())];
    // One by one: a recursive mkdir would recreate a root that has vanished, empty.
    for (const directory of [draft, path, ...inside]) await mkdir(directory, { mode: 0o700 });
    if (!(await fill({ threadDirectory, log, path }))) return undefined;
    for (const directory of [...inside, path, draft]) await syncDirectory(directory);
    await replaced.keep(threadDirectory, true);
    while (!(await renameToFree(draft, target))) {
      if ((await logsIn(root, threadDirectory)).length > 0) return undefined;
      await clearAway(root, threadDirectory);
    }
    isPublished = true;
  } finally {
    if (!isPublished) await removeTree(root.path, basename(draft)).catch(() => undefined);
    await replaced.settle();
  }
  return { threadDirectory, log, path: join(target, log), staging: join(target, log, staging) };
}

/** A directory can only be renamed to a free name or to that of an empty directory. */
async function renameToFree(draft: string, target: string): Promise<boolean> {
  try {
    await rename(draft, target);
    return true;
  } catch (error) {
    if (TAKEN.has(codeOf(error))) return false;
    throw error;
  }
}

const TAKEN: ReadonlySet<string | undefined> = new Set(
  process.platform === "win32" ? ["EEXIST", "ENOTEMPTY", "EPERM", "EACCES"] : ["EEXIST", "ENOTEMPTY"],
);

/** Removes a thread's directory that holds no log, and what a file browser left in it. Other files are not ours to remove. */
async function clearAway(root: RootDirectory, threadDirectory: string): Promise<void> {
  const path = join(root.path, threadDirectory);
  const names = (await readdir(path).catch(ignoreIfGone)) ?? [];
  if (names.some(isLogName)) return;
  const other = names.find((name) => !LITTER.has(name));
  if (other !== undefined) throw brokenLog(threadDirectory, `holds no log but ${JSON.stringify(other)}`);
  await removeFiles(path, names);
  const removals = new Removals(root.path);
  // Refused if a thread was created there meanwhile, as it should be.
  await removals.remove(threadDirectory, true).catch(() => undefined);
  await removals.settle();
}

const LITTER: ReadonlySet<string> = new Set([".DS_Store", "Thumbs.db", "desktop.ini"]);

/** Removes a log, and the thread with it; false if another process did. Safe to repeat: the name of a log is never reused. */
export async function retireLog(root: RootDirectory, place: LogPlace): Promise<boolean> {
  const directory = join(root.path, place.threadDirectory);
  const trash = await root.moveToTrash(place.path);
  if (trash === undefined) return false;
  await syncDirectory(directory).catch(ignoreIfGone);
  // The thread is gone already; only its empty directory would be left.
  await clearAway(root, place.threadDirectory).catch(() => undefined);
  await erase(trash);
  return true;
}
