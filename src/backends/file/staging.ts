import { mkdir, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { isGone } from "./classify.ts";
import { isLeftoverName, type LogPlace, newStagingName } from "./layout.ts";
import { erase, LEFTOVER_AGE_MS, type RootDirectory } from "./root.ts";
import { listLog } from "./snapshot.ts";

/** The log's staging directory, absolute; a new one if there is none. To be taken *before* the tail is looked at. */
export async function takeStaging(place: LogPlace): Promise<string> {
  const [name] = (await listLog(place.path)).stagings;
  if (name === undefined) return newStaging(place);
  const staging = join(place.path, name);
  await sweep(staging);
  return staging;
}

export async function newStaging(place: LogPlace): Promise<string> {
  const staging = join(place.path, newStagingName());
  await mkdir(staging, { mode: 0o700 });
  return staging;
}

/** From here on no writer that looked at the log before can change it. */
export async function moveStagingsAway(root: RootDirectory, place: LogPlace): Promise<void> {
  for (const name of (await listLog(place.path)).stagings) {
    const trash = await root.moveToTrash(join(place.path, name));
    if (trash !== undefined) await erase(trash);
  }
}

/** Removes what killed writers left. One that is only slow finds its file gone and begins again. */
async function sweep(staging: string): Promise<void> {
  for (const name of (await readdir(staging)).filter(isLeftoverName)) {
    const path = join(staging, name);
    try {
      const age = Date.now() - (await stat(path)).mtimeMs;
      if (age > LEFTOVER_AGE_MS) await unlink(path);
    } catch (error) {
      // Its writer has just finished.
      if (!isGone(error)) throw error;
    }
  }
}
