import { writeNewFile } from "./durable-write.ts";
import { type LogPlace, segmentPath, threadDirectoryName } from "./layout.ts";
import { openThread } from "./removing.ts";
import type { RootDirectory } from "./root.ts";
import { type RawLines, rawLines, segmentText } from "./segment-file.ts";
import { renderLine } from "./segment-line.ts";
import type { Snapshot } from "./snapshot.ts";
import { publishThread } from "./thread-directory.ts";
import { AGAIN, untilUndisturbed } from "./undisturbed.ts";

interface Target {
  readonly threadId: string;
  readonly generation: string;
}

/**
 * Copies all records into a new thread, as one segment. They are rewritten: each
 * names its thread, so that a record in the wrong place is noticed.
 */
export function copyThread(
  root: RootDirectory,
  source: string,
  target: Target,
): Promise<"copied" | "no source" | "target exists"> {
  const threadDirectory = threadDirectoryName(target.threadId);
  return untilUndisturbed(async () => {
    const snapshot = await openThread(root, threadDirectoryName(source));
    if (snapshot === undefined) return "no source";
    if ((await openThread(root, threadDirectory)) !== undefined) return "target exists";
    const made = await publishThread(root, threadDirectory, async (draft) => {
      await copyRecords(snapshot, draft, target);
      return snapshot.stillHolds();
    });
    return made === undefined ? AGAIN : "copied";
  });
}

async function copyRecords(snapshot: Snapshot, draft: LogPlace, target: Target): Promise<void> {
  const range = { from: 1, to: snapshot.tail.entry.seq };
  const owner = { ...target, log: draft.log };
  const lines = async function* (): AsyncGenerator<RawLines, void, undefined> {
    for await (const some of snapshot.eachRecord(range)) yield rawLines(some.map(renderLine));
  };
  await writeNewFile(segmentPath(draft, range), segmentText({ ...owner, ...range }, lines()));
}
