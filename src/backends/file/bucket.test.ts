import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { folderCopy } from "../../../test/file/folder-copy.ts";
import { testBucket } from "../../testing/test-bucket.ts";
import { FileBucket } from "./bucket.ts";
import { RootDirectory } from "./root.ts";

testBucket({
  name: "file",
  test,
  afterAll,
  create: async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-file-bucket-"));
    const open = (): FileBucket => new FileBucket(new RootDirectory(directory));
    const outage = async () => {
      await rename(directory, `${directory}-away`);
      return () => rename(`${directory}-away`, directory);
    };
    const cleanup = (): Promise<void> => rm(directory, { recursive: true });
    return { subject: open(), reopen: async () => open(), copy: () => folderCopy(directory), outage, cleanup };
  },
});
