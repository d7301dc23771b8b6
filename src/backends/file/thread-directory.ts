import { mkdir, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, ignoreIfGone, isGone } from "./classify.ts";
import { brokenLog } from "./damage.ts";
import { syncDirectory } from "./durable-write.ts";
import { isLogName, type LogPlace, newEditionName, newLogName, newStagingName } from "./layout.ts";
import { erase, type RootDirectory } from "./root.ts";

/** The log of a thread; `undefined` when the thread is not there. */
export async function findLog(root: RootDirectory, threadDirectory: string): Promise<LogPlace | undefined> {
  const logs = await logsIn(root, threadDirectory);
  if (logs.length > 1) throw brokenLog(threadDirectory, "holds two logs");
  return logs[0];
}

/** More than one only where somebody put it there by hand. */
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
  /** Absolute; was there before anybody could see the log. */
  readonly staging: string;
}

/**
 * Makes a thread appear whole, or not at all: `undefined` when there is one by
 * then, or when `fill` says that what it wrote must not appear after all.
 */
export async function publishThread(
  root: RootDirectory,
  threadDirectory: string,
  fill: (draft: LogPlace) => Promise<boolean>,
): Promise<NewLog | undefined> {
  const [log, staging, draft] = [newLogName(), newStagingName(), root.temporaryPath()];
  const target = join(root.path, threadDirectory);
  try {
    const path = join(draft, log);
    // One by one: made in one go, a root that has vanished would come back empty.
    for (const directory of [draft, path, join(path, staging), join(path, newEditionName())]) {
      await mkdir(directory, { mode: 0o700 });
    }
    if (!(await fill({ threadDirectory, log, path }))) return undefined;
    await syncDirectory(path);
    await syncDirectory(draft);
    while (!(await renameToFree(draft, target))) {
      if ((await logsIn(root, threadDirectory)).length > 0) return undefined;
      await clearAway(target, threadDirectory);
    }
  } finally {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined);
  }
  await syncDirectory(root.path);
  return { threadDirectory, log, path: join(target, log), staging: join(target, log, staging) };
}

/** A directory can be renamed to a name that is free or that of an empty directory, and to no other. */
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

/** Removes a thread's directory that holds no log. What a file browser left in it goes too; anything else is not ours to remove. */
async function clearAway(path: string, threadDirectory: string): Promise<void> {
  const names = await readdir(path).catch(ignoreIfGone);
  for (const name of names ?? []) {
    if (isLogName(name)) return;
    if (!LITTER.has(name)) throw brokenLog(threadDirectory, `holds no log but ${JSON.stringify(name)}`);
    await unlink(join(path, name)).catch(ignoreIfGone);
  }
  // Refused when a thread moved in meanwhile, as it should be.
  await rmdir(path).catch(() => undefined);
}

const LITTER: ReadonlySet<string> = new Set([".DS_Store", "Thumbs.db", "desktop.ini"]);

/** Takes a log away, and the thread with it; false when somebody else did. Safe to repeat: a log's name never comes back. */
export async function retireLog(root: RootDirectory, place: LogPlace): Promise<boolean> {
  const directory = join(root.path, place.threadDirectory);
  const trash = await root.moveToTrash(place.path);
  if (trash === undefined) return false;
  await syncDirectory(directory).catch(ignoreIfGone);
  // The thread is gone already; only its empty directory would stay.
  await clearAway(directory, place.threadDirectory).catch(() => undefined);
  await syncDirectory(root.path);
  await erase(trash);
  return true;
}
