/** Every call into the file system is a step here: see `test/file/interrupted-acts.ts`. */

import { vi } from "vitest";
import {
  type Act,
  append,
  copy,
  EDITS,
  fourRecords,
  inTurn,
  nothing,
  recreate,
  remove,
  removeAtFour,
  testKilledAtAnyStep,
  testTwoAtOnce,
  unfinishedEdits,
} from "../../../test/file/interrupted-acts.ts";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { placeAt, type RequestFields, recordAt } from "../../testing/thread-log-cases/sample-records.ts";

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

const recordsFrom = (seq: number, ...writeIds: string[]): LogRecord[] =>
  writeIds.map((writeId, index) => recordAt(seq + index, { writeId, checkpointId: writeId }));
/** Three records at once; the last has a further name. */
const several = (seq: number, writeId: string, fields: RequestFields = {}): Act => {
  const last = recordAt(seq + 2, { writeId: `${writeId}-last`, names: ["latest"] });
  return append(seq, writeId, { more: [...recordsFrom(seq + 1, `${writeId}-second`), last], ...fields });
};
/** Also four records, three of them in one file. */
const threeTogether = inTurn(
  append(1, "write-1"),
  append(2, "write-2", { more: recordsFrom(3, "write-3", "write-4") }),
);
const ONE_OF_SEVERAL = { replace: [recordAt(3, { writeId: "rewritten", names: ["renamed"] })], drop: [2] };

testKilledAtAnyStep({
  "the first append of several records": { before: nothing, act: several(1, "new") },
  "an append of several records": { before: fourRecords, act: several(5, "new") },
  "an append of several records with edits": { before: fourRecords, act: several(5, "new", EDITS) },
  "an append behind several records": { before: threeTogether, act: append(5, "new") },
  "a change of one of several records": { before: threeTogether, act: append(5, "new", ONE_OF_SEVERAL) },
  "a change of one of several records by several": { before: threeTogether, act: several(5, "new", ONE_OF_SEVERAL) },
});

testTwoAtOnce({
  "several records, one": [several(5, "a"), append(5, "b")],
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
  "reading, a change of one of several": [(log) => log.readTail("t"), append(5, "b", ONE_OF_SEVERAL), threeTogether],
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
