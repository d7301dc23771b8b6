import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { ReadThroughLog } from "../../../test/read-access/read-through-log.ts";
import { ReadOnlyLog } from "../../checkpoint/log/read-only-log.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { FileLog } from "./log.ts";

testThreadLog({
  name: "file with read access",
  test,
  afterAll,
  create: async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-file-read-"));
    const open = (): ReadThroughLog => {
      const reader = new ReadOnlyLog(new FileLog({ directory, access: "read" }));
      return new ReadThroughLog(new FileLog({ directory, foldEvery: 2 }), reader);
    };
    return { subject: open(), reopen: async () => open(), cleanup: () => rm(directory, { recursive: true }) };
  },
});
