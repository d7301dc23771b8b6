import { stat, unlink } from "node:fs/promises";
import type { AppendRequest } from "../../checkpoint/thread-log.ts";
import { inParallel } from "../../internal/in-parallel.ts";
import { ignoreIfGone, isGone } from "./classify.ts";
import { replaceAt, syncDirectory } from "./durable-write.ts";
import { type LogPlace, recordPath } from "./layout.ts";
import { type RecordEdits, renderRecord, type StoredRecord } from "./record-file.ts";
import type { RootDirectory } from "./root.ts";
import { untilSettled } from "./settling.ts";
import { isDropped, type Snapshot, takeSnapshot } from "./snapshot.ts";
import { moveStagingsAway, newStaging } from "./staging.ts";

/** The edits of an append, if it makes any. */
export function editsOf({ replace = [], drop = [], dropBelow = 0 }: AppendRequest): RecordEdits | undefined {
  return replace.length + drop.length + dropBelow === 0 ? undefined : { replace, drop, dropBelow };
}

/**
 * Carries out what the tail's edits say, if it holds any. Everybody may do so,
 * also several at once and after any interruption: each step leads to the same
 * files, and whoever is overtaken has its staging directory taken away and
 * fails as gone.
 */
export async function finishEdits(root: RootDirectory, place: LogPlace): Promise<void> {
  await moveStagingsAway(root, place);
  const staging = await newStaging(place);
  const snapshot = await takeSnapshot(place);
  if (snapshot.pending?.edits !== undefined)
    await carryOut(snapshot, snapshot.pending, snapshot.pending.edits, staging);
}

async function carryOut(snapshot: Snapshot, tail: StoredRecord, edits: RecordEdits, staging: string): Promise<void> {
  const { place, listing } = snapshot;
  for (const record of edits.replace) {
    if (isDropped(edits, record.seq)) continue;
    const bytes = renderRecord({ ...tail, record, edits: undefined });
    await replaceAt(recordPath(place, record.seq), bytes, staging);
  }
  const dropped = listing.seqs.filter((seq) => isDropped(edits, seq));
  await inParallel(dropped, (seq) => unlink(recordPath(place, seq)).catch(ignoreIfGone));
  // The tail must not forget its edits before they are on the disk.
  await syncDirectory(place.path);
  await replaceAt(recordPath(place, tail.record.seq), renderRecord({ ...tail, edits: undefined }), staging);
}

/** After a commit. Nothing is left to do where the whole log has been deleted since. */
export function finishOwnEdits(root: RootDirectory, place: LogPlace): Promise<void> {
  return untilSettled(async () => {
    const isThere = await stat(place.path).then(() => true, isNotThere);
    if (isThere) await finishEdits(root, place);
  });
}

function isNotThere(error: unknown): false {
  if (!isGone(error)) throw error;
  return false;
}
