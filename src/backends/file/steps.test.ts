/** Every call into the file system is a step here: see `test/file/interrupted-acts.ts`. */

import { expect, test, vi } from "vitest";
import {
  type Act,
  append,
  copy,
  EDITS,
  fourRecords,
  inTurn,
  killedAt,
  newDirectory,
  nothing,
  recreate,
  remove,
  removeAtFour,
  testKilledAtAnyStep,
  testTwoAtOnce,
  unfinishedEdits,
} from "../../../test/file/interrupted-acts.ts";
import { actors } from "../../../test/file/stepwise.ts";
import type { AppendRequest, LogEntry } from "../../checkpoint/thread-log.ts";
import { recordAt } from "../../testing/thread-log-cases/sample-records.ts";
import { threadDirectoryName } from "./layout.ts";
import { FileLog } from "./log.ts";
import { RootDirectory } from "./root.ts";
import { readThread } from "./snapshot.ts";

vi.mock("node:fs/promises", async (original) => {
  const { stepwiseModule } = await import("../../../test/file/stepwise.ts");
  return stepwiseModule(await original());
});
vi.mock("./read-file.ts", async (original) => {
  const { stepwiseModule } = await import("../../../test/file/stepwise.ts");
  const { closeFile, ...others } = await original<typeof import("./read-file.ts")>();
  // The system closes the files of a process that is killed, and so does this.
  return { ...stepwiseModule(others), closeFile };
});

const REPLACING = { replace: [recordAt(2, { writeId: "two" }), recordAt(3, { writeId: "three" })] };
/** Like the last one, on a disk where no byte can be written. */
const removeAtFourOnFullDisk: Act = (log) => {
  const outer = actors.getStore();
  const before = async (call: string, path?: unknown): Promise<void> => {
    await outer?.before(call, path);
    if (call === "write") throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
  };
  return actors.run({ before }, () => removeAtFour(log));
};
const unfinishedRemoval = inTurn(fourRecords, killedAt("rename", removeAtFour));

testKilledAtAnyStep({
  "the first append of a thread": { before: nothing, act: append(1, "write-1") },
  "an append": { before: fourRecords, act: append(5, "new") },
  "an append with edits": { before: fourRecords, act: append(5, "new", EDITS) },
  "a removal": { before: fourRecords, act: remove },
  "a removal on a condition": { before: fourRecords, act: removeAtFour },
  ...(process.platform === "linux" && {
    "a removal on a condition on a full disk": { before: fourRecords, act: removeAtFourOnFullDisk },
  }),
  "a copy": { before: fourRecords, act: copy },
  "an append behind unfinished edits": { before: unfinishedEdits, act: append(6, "new") },
  "a new thread after an unfinished removal": { before: unfinishedRemoval, act: append(1, "new") },
});

const markFive = append(5, "mark-5", { record: recordAt(5, { checkpointId: undefined, head: 4 }) });

testTwoAtOnce({
  "an append, another append": [append(5, "a"), append(5, "b")],
  "an append, one that leaves a gap where the first would go": [
    append(5, "a"),
    inTurn(markFive, append(6, "b", { drop: [5] })),
  ],
  "an append that has to look first, one that leaves such a gap": [
    append(5, "a"),
    inTurn(markFive, append(6, "b", { drop: [5] })),
    inTurn(fourRecords, append(3, "refused, after which the footing is forgotten")),
  ],
  "a removal on a condition, one that leaves such a gap": [
    removeAtFour,
    inTurn(markFive, append(6, "b", { drop: [5] })),
  ],
  "an append, edits": [append(5, "a"), append(5, "b", EDITS)],
  "edits, an append": [append(5, "a", EDITS), append(5, "b")],
  "edits, other edits": [
    append(5, "a", EDITS),
    append(5, "b", { drop: [3], replace: [recordAt(2, { writeId: "other" })] }),
  ],
  "edits, an append behind them that edits the same records": [
    append(5, "a", EDITS),
    append(6, "b", { drop: [3, 5], replace: [recordAt(4, { writeId: "other" })] }),
  ],
  "an append, a removal": [append(5, "a"), remove],
  "an append, a removal and a new thread": [append(5, "a"), inTurn(remove, recreate)],
  "an append, a removal on a condition and a new thread": [append(5, "a"), inTurn(removeAtFour, recreate)],
  "edits, a removal and a new thread": [append(5, "a", EDITS), inTurn(remove, recreate)],
  "a removal, an append": [remove, append(5, "b")],
  "a removal, a removal and a new thread": [remove, inTurn(remove, recreate)],
  "a removal on a condition, an append": [removeAtFour, append(5, "b")],
  "a removal on a condition, edits": [removeAtFour, append(5, "b", EDITS)],
  "a removal on a condition, a removal and a new thread": [removeAtFour, inTurn(remove, recreate)],
  "a removal on a condition, the same and a new thread": [removeAtFour, inTurn(removeAtFour, recreate)],
  ...(process.platform === "linux" && {
    "a removal on a full disk, an append": [removeAtFourOnFullDisk, append(5, "b")] as const,
    "a removal on a full disk, edits": [removeAtFourOnFullDisk, append(5, "b", EDITS)] as const,
    "an append, a removal on a full disk and a new thread": [
      append(5, "a"),
      inTurn(removeAtFourOnFullDisk, recreate),
    ] as const,
  }),
  "a new thread, another": [recreate, append(1, "b", { generation: "third" }), nothing],
  "a new thread, another, where a removal was not finished": [
    recreate,
    append(1, "b", { generation: "third" }),
    unfinishedRemoval,
  ],
  "an append, a removal and a new thread, where a removal was not finished": [
    append(5, "a"),
    inTurn(remove, recreate),
    unfinishedRemoval,
  ],
  "an append, another, behind unfinished edits": [append(6, "a"), append(6, "b"), unfinishedEdits],
  "an append, edits, behind unfinished edits": [
    append(6, "a"),
    append(6, "b", { drop: [3, 5], replace: [recordAt(4, { writeId: "other" })] }),
    unfinishedEdits,
  ],
  "reading, an append, behind unfinished edits": [(log) => log.readTail("t"), append(6, "b"), unfinishedEdits],
  "a copy, edits": [copy, append(5, "b", EDITS)],
  "a copy, a removal and a new thread": [copy, inTurn(remove, recreate)],
  "a copy, a thread where it would go": [
    copy,
    (log) => log.append("copied", { generation: "b", expected: 0, record: recordAt(1, { writeId: "b" }) }),
  ],
  "reading, edits": [(log) => log.readTail("t"), append(5, "b", EDITS)],
  "reading, edits and more edits": [
    (log) => log.readTail("t"),
    inTurn(append(5, "b", EDITS), append(6, "c", { drop: [5], replace: [recordAt(3, { writeId: "again" })] })),
  ],
  "reading, edits that only replace": [(log) => log.readTail("t"), append(5, "b", REPLACING)],
  "listing, edits that only replace": [(log) => log.list("t", { limit: 100 }), append(5, "b", REPLACING)],
  "edits that only replace, an append": [append(5, "a", REPLACING), append(5, "b")],
  "a copy, edits that only replace": [copy, append(5, "b", REPLACING)],
  "reading by name, edits": [(log) => log.readCheckpoint("t", "write-4"), append(5, "b", EDITS)],
  "listing, edits": [(log) => log.list("t", { limit: 100 }), append(5, "b", EDITS)],
  "listing threads, a removal": [(log) => log.listThreads({ prefix: "", limit: 10 }), remove],
  "reading, a removal and a new thread": [(log) => log.readTail("t"), inTurn(remove, recreate)],
});

test("a listing that shows a name made while it ran, but not the one made before, does no harm", async () => {
  const log = new FileLog({ directory: await newDirectory() });
  await fourRecords(log);
  let isFirst = true;
  const after = (call: string, result: unknown): unknown => {
    const names = call === "readdir" && Array.isArray(result) ? (result as string[]) : [];
    if (!isFirst || !names.includes("0000000003.json")) return result;
    isFirst = false;
    return names.filter((name) => name !== "0000000003.json");
  };
  const seen = await actors.run({ before: async () => undefined, after }, () => log.readTail("t"));
  expect(isFirst).toBe(false);
  expect(seen?.records.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
});

test("a listing that an edit overtook is not taken for damage", async () => {
  const directory = await newDirectory();
  const [log, other] = [new FileLog({ directory }), new FileLog({ directory })];
  await inTurn(...[1, 2, 3].map((seq) => append(seq, `write-${seq}`)))(log);
  const mark = (seq: number, head: number): Partial<AppendRequest> => ({
    record: recordAt(seq, { head, checkpointId: undefined }),
  });
  await append(4, "", mark(4, 3))(log);
  let isFirst = true;
  const after = async (call: string, result: unknown): Promise<unknown> => {
    const names = call === "readdir" && Array.isArray(result) ? (result as string[]) : [];
    if (!isFirst || !names.includes("0000000003.json")) return result;
    isFirst = false;
    await actors.exit(() => append(5, "", { ...mark(5, 2), drop: [3] })(other));
    return names.filter((name) => name !== "0000000003.json");
  };
  const readHead = (): Promise<LogEntry | undefined> =>
    readThread(new RootDirectory(directory), threadDirectoryName("t"), (snapshot) => snapshot.head());
  const seen = await actors.run({ before: async () => undefined, after }, readHead);
  expect(isFirst).toBe(false);
  expect(seen?.seq).toBe(2);
});
