import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { folderCopy } from "../../../test/file/folder-copy.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { FileLog } from "./log.ts";

/** Keeps nearly every record in the folded part of the history. */
testThreadLog({
  name: "file, folding every 2",
  test,
  afterAll,
  create: async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-file-"));
    const open = (): FileLog => new FileLog({ directory, foldEvery: 2 });
    const cleanup = (): Promise<void> => rm(directory, { recursive: true });
    return { subject: open(), reopen: async () => open(), copy: () => folderCopy(directory), cleanup };
  },
});
