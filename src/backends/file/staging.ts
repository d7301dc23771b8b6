import { lstat, mkdir, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ignoreIfGone, isGone } from "./classify.ts";
import { isLeftoverName, type LogPlace, newEditionName, newStagingName } from "./layout.ts";
import { listLog } from "./listing.ts";
import { erase, LEFTOVER_AGE_MS, type RootDirectory } from "./root.ts";

/** The log's staging directory, absolute; a new one if there is none. To be taken *before* the tail is looked at. */
export async function takeStaging(place: LogPlace): Promise<string> {
  const [name] = (await listLog(place.path)).stagings;
  if (name === undefined) return newStaging(place);
  const staging = join(place.path, name);
  await sweep(staging);
  return staging;
}

async function newStaging(place: LogPlace): Promise<string> {
  const staging = join(place.path, newStagingName());
  await mkdir(staging, { mode: 0o700 });
  return staging;
}

/**
 * A new staging directory; from here on no writer that looked at the log before
 * can change it. One stands all the time: it tells who lists the log that
 * nothing was removed meanwhile.
 */
export async function renewStaging(root: RootDirectory, place: LogPlace): Promise<string> {
  const { stagings } = await listLog(place.path);
  const staging = await newStaging(place);
  for (const name of stagings) {
    const trash = await root.moveToTrash(join(place.path, name));
    if (trash !== undefined) await erase(trash);
  }
  return staging;
}

/** From here on whoever read anything before knows that it may be of another edition. One stands all the time. */
export async function changeEdition(place: LogPlace): Promise<void> {
  const { editions } = await listLog(place.path);
  await mkdir(join(place.path, newEditionName()), { mode: 0o700 });
  for (const name of editions) await rmdir(join(place.path, name)).catch(ignoreIfGone);
}

/** Removes what killed writers left. One that is only slow finds its file gone and begins again. */
async function sweep(staging: string): Promise<void> {
  for (const name of (await readdir(staging)).filter(isLeftoverName)) {
    const path = join(staging, name);
    try {
      const age = Date.now() - (await lstat(path)).mtimeMs;
      if (age > LEFTOVER_AGE_MS) await unlink(path);
    } catch (error) {
      // Its writer has just finished.
      if (!isGone(error)) throw error;
    }
  }
}
