import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import type { Store } from "../../store/store.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testStore } from "../../testing/test-store.ts";
import { sqliteStore } from "./store.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sqlite-store-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;
const freshPath = (): string => join(folder, `${++files}.db`);

describe("sqlite", () => {
  testStore({
    name: "sqlite",
    test,
    afterAll,
    create: async () => {
      const path = freshPath();
      const clock = manualClock();
      const open = (): Store => sqliteStore({ path, now: clock.now });
      return { subject: open(), reopen: async () => open(), clock };
    },
  });
});
