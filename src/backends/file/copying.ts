import { inParallel } from "../../internal/in-parallel.ts";
import { writeNewFile } from "./durable-write.ts";
import { type LogPlace, recordPath, threadDirectoryName } from "./layout.ts";
import { renderRecord } from "./record-file.ts";
import { openThread } from "./removing.ts";
import type { RootDirectory } from "./root.ts";
import { AGAIN, untilSettled } from "./settling.ts";
import type { Snapshot } from "./snapshot.ts";
import { publishThread } from "./thread-directory.ts";

interface Target {
  readonly threadId: string;
  readonly generation: string;
}

/**
 * Copies all records to a thread of their own. They are written anew, not
 * linked: each file says whose it is, so that one in the wrong place is noticed.
 */
export function copyThread(
  root: RootDirectory,
  source: string,
  target: Target,
): Promise<"copied" | "no source" | "target exists"> {
  const threadDirectory = threadDirectoryName(target.threadId);
  return untilSettled(async () => {
    const snapshot = await openThread(root, threadDirectoryName(source));
    if (snapshot === undefined) return "no source";
    if ((await openThread(root, threadDirectory)) !== undefined) return "target exists";
    const made = await publishThread(root, threadDirectory, async (draft) => {
      await inParallel(snapshot.seqs, (seq) => copyRecord(snapshot, seq, draft, target));
      return snapshot.stillHolds();
    });
    return made === undefined ? AGAIN : "copied";
  });
}

async function copyRecord(snapshot: Snapshot, seq: number, draft: LogPlace, target: Target): Promise<void> {
  const record = await snapshot.record(seq);
  const bytes = renderRecord({ ...target, log: draft.log, record, removed: false, edits: undefined });
  await writeNewFile(recordPath(draft, seq), bytes);
}
