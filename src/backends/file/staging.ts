import { lstat, mkdir, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ignoreIfGone, isGone } from "./classify.ts";
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
  await mkdir(staging, { mode: 0o700 });
  return staging;
}

/**
 * A new staging directory. From here on no writer that read the log before can
 * change it. There is always one: it tells a process that lists the log that nothing
 * was removed meanwhile.
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

/** From here on, every process that read something before can tell that it may be of an older edition. There is always one. */
export async function changeEdition(place: LogPlace): Promise<void> {
  const { editions } = await listLog(place.path);
  await mkdir(join(place.path, newEditionName()), { mode: 0o700 });
  for (const name of editions) await rmdir(join(place.path, name)).catch(ignoreIfGone);
}

/** Removes what killed writers left. A writer that is only slow finds its file gone and starts over. */
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
