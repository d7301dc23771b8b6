import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { folderCopy } from "../../../test/file/folder-copy.ts";
import type { Store } from "../../store/store.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testStore } from "../../testing/test-store.ts";
import { fileStore } from "./store.ts";

testStore({
  name: "file",
  test,
  afterAll,
  create: async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-file-store-"));
    const clock = manualClock();
    const open = (): Store => fileStore({ directory, now: clock.now, retry: { attempts: 2, baseDelayMs: 1 } });
    const outage = async () => {
      await rename(directory, `${directory}-away`);
      return () => rename(`${directory}-away`, directory);
    };
    const cleanup = (): Promise<void> => rm(directory, { recursive: true });
    return { subject: open(), reopen: async () => open(), clock, copy: () => folderCopy(directory), outage, cleanup };
  },
});
