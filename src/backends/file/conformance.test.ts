import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { testFeatures } from "../../../test/feature-sample.ts";
import { folderCopy } from "../../../test/file/folder-copy.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { FileCheckpointer } from "./index.ts";
import { FileLog } from "./log.ts";

const emptyDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), "holdfast-file-"));

testThreadLog({
  name: "file",
  test,
  afterAll,
  create: async () => {
    const directory = await emptyDirectory();
    const open = (): FileLog => new FileLog({ directory });
    const cleanup = (): Promise<void> => rm(directory, { recursive: true });
    return { subject: open(), reopen: async () => open(), copy: () => folderCopy(directory), cleanup };
  },
});

testFeatures({
  name: "file",
  test,
  afterAll,
  create: async () => {
    const directory = await emptyDirectory();
    const clock = manualClock();
    const open = (): Checkpointer => new FileCheckpointer({ directory, now: clock.now });
    const cleanup = (): Promise<void> => rm(directory, { recursive: true });
    return { subject: open(), reopen: async () => open(), clock, copy: () => folderCopy(directory), cleanup };
  },
});
