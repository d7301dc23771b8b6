import { lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isGone } from "./classify.ts";
import { Removals, removeFiles, syncDirectory } from "./durable-names.ts";
import { isLeftoverName, type LogPlace, newEditionName, newStagingName } from "./layout.ts";
import { listLog } from "./listing.ts";
import { erase, LEFTOVER_AGE_MS, type RootDirectory } from "./root.ts";

/** The log's staging directory, absolute; created if needed. To be taken *before* reading the tail. */
export async function takeStaging(place: LogPlace): Promise<string> {
  const [name] = (await listLog(place.path)).stagings;
  if (name === undefined) return newStaging(place);
  const staging = join(place.path, name);
  await sweep(staging);
  return staging;
}

async function newStaging(place: LogPlace): Promise<string> {
  const staging = join(place.path, newStagingName());
  await newDirectory(staging);
  return staging;
}

/** A directory that is on the disk before anything else is: a name alone may lead to what was there before. */
async function newDirectory(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  await syncDirectory(path);
}

/**
 * A new staging directory. From here on no writer that read the log before can
 * change it. There is always one: it tells a process that lists the log that nothing
 * was removed meanwhile.
 */
export async function renewStaging(root: RootDirectory, place: LogPlace): Promise<string> {
  const { stagings } = await listLog(place.path);
  const staging = await newStaging(place);
  const trash = [];
  for (const name of stagings) trash.push(await root.moveToTrash(join(place.path, name)));
  await syncDirectory(place.path);
  for (const moved of trash) if (moved !== undefined) await erase(moved);
  return staging;
}

/** From here on, every process that read something before can tell that it may be of an older edition. There is always one. */
export async function changeEdition(place: LogPlace): Promise<void> {
  const { editions } = await listLog(place.path);
  await newDirectory(join(place.path, newEditionName()));
  const removals = new Removals(place.path);
  try {
    for (const name of editions) await removals.remove(name, true);
  } finally {
    await removals.settle();
  }
}

/** Removes what killed writers left. A writer that is only slow finds its file gone and starts over. */
async function sweep(staging: string): Promise<void> {
  const old: string[] = [];
  for (const name of (await readdir(staging)).filter(isLeftoverName)) {
    try {
      const age = Date.now() - (await lstat(join(staging, name))).mtimeMs;
      if (age > LEFTOVER_AGE_MS) old.push(name);
    } catch (error) {
      // Its writer has just finished.
      if (!isGone(error)) throw error;
    }
  }
  await removeFiles(staging, old);
}
