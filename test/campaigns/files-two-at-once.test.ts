/** Every call into the file system is a step here: see `test/file/interrupted-acts.ts`. */

import { vi } from "vitest";
import { placeAt, recordAt } from "../../src/testing/thread-log-cases/sample-records.ts";
import {
  append,
  copy,
  EDITS,
  fourRecords,
  inTurn,
  killedAt,
  nothing,
  ONE_OF_SEVERAL,
  recreate,
  remove,
  removeAtFour,
  removeAtFourOnFullDisk,
  several,
  testTwoAtOnce,
  threeTogether,
  unfinishedEdits,
} from "../file/interrupted-acts.ts";

vi.mock("node:fs/promises", async (original) => {
  const { stepwiseModule } = await import("../file/stepwise.ts");
  return stepwiseModule(await original());
});
vi.mock("../../src/backends/file/read-file.ts", async (original) => {
  const { stepwiseModule } = await import("../file/stepwise.ts");
  const { closeFile, ...others } = await original<typeof import("../../src/backends/file/read-file.ts")>();
  // The system closes the files of a process that is killed, and so does this.
  return { ...stepwiseModule(others), closeFile };
});

const REPLACING = { replace: [recordAt(2, { writeId: "two" }), recordAt(3, { writeId: "three" })] };
const unfinishedRemoval = inTurn(fourRecords, killedAt("rename", removeAtFour));

const markFive = append(5, "mark-5", { record: recordAt(5, { checkpointId: undefined, head: 4 }) });

/** Beside the pairs in `src/backends/file/steps.test.ts`. */
testTwoAtOnce({
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
  "edits, other edits": [
    append(5, "a", EDITS),
    append(5, "b", { drop: [3], replace: [recordAt(2, { writeId: "other" })] }),
  ],
  "edits, an append behind them that edits the same records": [
    append(5, "a", EDITS),
    append(6, "b", { drop: [3, 5], replace: [recordAt(4, { writeId: "other" })] }),
  ],
  "an append, a removal": [append(5, "a"), remove],
  "an append, a removal on a condition and a new thread": [append(5, "a"), inTurn(removeAtFour, recreate)],
  "edits, a removal and a new thread": [append(5, "a", EDITS), inTurn(remove, recreate)],
  "a removal, an append": [remove, append(5, "b")],
  "a removal, a removal and a new thread": [remove, inTurn(remove, recreate)],
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
  "an append, another, behind unfinished edits": [
    append(6, "a", { after: "edits" }),
    append(6, "b", { after: "edits" }),
    unfinishedEdits,
  ],
  "an append, edits, behind unfinished edits": [
    append(6, "a", { after: "edits" }),
    append(6, "b", { after: "edits", drop: [3, 5], replace: [recordAt(4, { writeId: "other" })] }),
    unfinishedEdits,
  ],
  "reading, an append, behind unfinished edits": [
    (log) => log.readTail("t"),
    append(6, "b", { after: "edits" }),
    unfinishedEdits,
  ],
  "a copy, a removal and a new thread": [copy, inTurn(remove, recreate)],
  "a copy, a thread where it would go": [
    copy,
    (log) => log.append("copied", { expected: placeAt(0, "b"), record: recordAt(1, { writeId: "b" }) }),
  ],
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

/** Beside the pairs in `src/backends/file/several-steps.test.ts`. */
testTwoAtOnce({
  "one record, several": [append(5, "a"), several(5, "b")],
  "several records, others": [several(5, "a"), several(5, "b")],
  "several records, edits": [several(5, "a"), append(5, "b", EDITS)],
  "several records with edits, others behind them": [several(5, "a", EDITS), several(8, "b", { drop: [6] })],
  "several records, a removal and a new thread": [several(5, "a"), inTurn(remove, recreate)],
  "several records, a removal on a condition": [several(5, "a"), removeAtFour],
  "several records, others, behind unfinished edits": [several(6, "a"), several(6, "b"), unfinishedEdits],
  "an append, a change of one of several": [append(5, "a"), append(5, "b", ONE_OF_SEVERAL), threeTogether],
  "a change of one of several, an append": [append(5, "a", ONE_OF_SEVERAL), append(5, "b"), threeTogether],
  "a copy, a change of one of several": [copy, append(5, "b", ONE_OF_SEVERAL), threeTogether],
  "reading, several records": [(log) => log.readTail("t"), several(5, "b")],
  "reading a page, a change of one of several": [
    (log) => log.readRecords("t", { limit: 3 }),
    several(5, "b", ONE_OF_SEVERAL),
    threeTogether,
  ],
  "reading what is newer, a change of one of several": [
    (log) => log.readTail("t", { newerThan: placeAt(2) }),
    append(5, "b", ONE_OF_SEVERAL),
    threeTogether,
  ],
});
