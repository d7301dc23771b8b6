/** Every call into the file system is a step here: see `test/file/interrupted-acts.ts`. */

import { vi } from "vitest";
import {
  append,
  EDITS,
  fourRecords,
  nothing,
  ONE_OF_SEVERAL,
  several,
  testKilledAtAnyStep,
  testTwoAtOnce,
  threeTogether,
} from "../../../test/file/interrupted-acts.ts";

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

testKilledAtAnyStep({
  "the first append of several records": { before: nothing, act: several(1, "new") },
  "an append of several records": { before: fourRecords, act: several(5, "new") },
  "an append of several records with edits": { before: fourRecords, act: several(5, "new", EDITS) },
  "an append behind several records": { before: threeTogether, act: append(5, "new") },
  "a change of one of several records": { before: threeTogether, act: append(5, "new", ONE_OF_SEVERAL) },
  "a change of one of several records by several": { before: threeTogether, act: several(5, "new", ONE_OF_SEVERAL) },
});

/** A sample: `npm run test:crash` has more. */
testTwoAtOnce({
  "several records, one": [several(5, "a"), append(5, "b")],
  "reading, a change of one of several": [(log) => log.readTail("t"), append(5, "b", ONE_OF_SEVERAL), threeTogether],
});
