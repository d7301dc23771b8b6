/** Every call into the file system is a step here: see `test/file/interrupted-acts.ts`. */

import { expect, test, vi } from "vitest";
import {
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
  removeAtFourOnFullDisk,
  testKilledAtAnyStep,
  testTwoAtOnce,
  unfinishedEdits,
} from "../../../test/file/interrupted-acts.ts";
import { actors } from "../../../test/file/stepwise.ts";
import type { LogEntry } from "../../checkpoint/log/thread-log.ts";
import { type RequestFields, recordAt } from "../../testing/thread-log-cases/sample-records.ts";
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
  "an append behind unfinished edits": { before: unfinishedEdits, act: append(6, "new", { after: "edits" }) },
  "a new thread after an unfinished removal": { before: unfinishedRemoval, act: append(1, "new") },
});

/** A sample: `npm run test:crash` has every pair. */
testTwoAtOnce({
  "an append, another append": [append(5, "a"), append(5, "b")],
  "an append, edits": [append(5, "a"), append(5, "b", EDITS)],
  "edits, an append": [append(5, "a", EDITS), append(5, "b")],
  "an append, a removal and a new thread": [append(5, "a"), inTurn(remove, recreate)],
  "a removal on a condition, an append": [removeAtFour, append(5, "b")],
  "a copy, edits": [copy, append(5, "b", EDITS)],
  "reading, edits": [(log) => log.readTail("t"), append(5, "b", EDITS)],
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
  const mark = (seq: number, head: number): RequestFields => ({
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
