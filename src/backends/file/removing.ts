import { randomBytes } from "node:crypto";
import type { KnownPlace, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import { classify } from "./classify.ts";
import { createMarkAt } from "./durable-write.ts";
import { commit, type Footing, findFooting } from "./footing.ts";
import { type LogPlace, REMOVAL_MARK, recordPath, threadDirectoryName } from "./layout.ts";
import type { RootDirectory } from "./root.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";
import { findLog, logsIn, retireLog } from "./thread-directory.ts";
import { AGAIN, untilUndisturbed } from "./undisturbed.ts";

type Removal = "removed" | "absent" | "moved";

/** The thread, if it exists. A removal that was committed but not finished is finished here. */
export async function openThread(root: RootDirectory, threadDirectory: string): Promise<Snapshot | undefined> {
  const place = await findLog(root, threadDirectory);
  if (place === undefined) return undefined;
  const snapshot = await takeSnapshot(root, place);
  if (!snapshot.tail.removed) return snapshot;
  await retireLog(root, place);
  return undefined;
}

/** Works on a damaged thread too: this is how to get rid of one. */
export function removeThread(root: RootDirectory, threadId: string): Promise<Removal> {
  return untilUndisturbed(async () => {
    const logs = await logsIn(root, threadDirectoryName(threadId));
    if (logs.length === 0) return "absent";
    let outcome: Removal | typeof AGAIN = AGAIN;
    for (const place of logs) {
      const wasThere = !(await isEnded(root, place));
      if (await retireLog(root, place)) outcome = wasThere ? "removed" : "absent";
    }
    return outcome;
  });
}

/**
 * Removes a thread if nothing was added to it. A last record after the tail says so:
 * from then on no append can succeed and no reader sees the thread. Any process may
 * finish the removal.
 */
export function removeThreadAt(root: RootDirectory, threadId: string, expected: KnownPlace): Promise<Removal> {
  return untilUndisturbed(async () => {
    const footing = await findFooting(root, threadDirectoryName(threadId), { expected });
    if (footing === AGAIN) return AGAIN;
    if ("appended" in footing) return footing.tail === undefined ? "absent" : "moved";
    if (!(await commitRemoval(footing, threadId, expected.seq + 1))) return AGAIN;
    await retireLog(root, footing.place);
    return "removed";
  });
}

/** On a full disk the last record is a symbolic link, which needs no space: deleting must work there. */
async function commitRemoval(footing: Footing, threadId: string, seq: number): Promise<boolean> {
  try {
    return await commit(footing, { threadId, record: lastRecord(seq), more: [], removed: true, edits: undefined });
  } catch (error) {
    if (classify(error) !== "STORAGE_FULL" || process.platform !== "linux") throw error;
    return createMarkAt(recordPath(footing.place, seq), REMOVAL_MARK, footing.staging);
  }
}

const lastRecord = (seq: number): LogRecord => ({
  seq,
  writeId: randomBytes(12).toString("hex"),
  base: seq,
  head: 0,
  checkpointId: undefined,
  header: "{}",
  metadata: undefined,
  body: Buffer.from("{}"),
  words: undefined,
});

/** Whether a conditional removal was committed but not finished. A damaged thread counts as existing. */
async function isEnded(root: RootDirectory, place: LogPlace): Promise<boolean> {
  try {
    return (await takeSnapshot(root, place)).tail.removed;
  } catch (error) {
    if (StateError.is(error)) return false;
    throw error;
  }
}
