import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { copyDatabase } from "../../../test/sqlite/copy-database.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testCheckpointer } from "../../testing/test-checkpointer.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { sqliteCheckpointer } from "./index.ts";
import { SqliteLog } from "./log.ts";
import { sqliteLogOptions } from "./options.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sqlite-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;
const freshPath = (): string => join(folder, `${++files}.db`);

describe("sqlite", () => {
  testThreadLog({
    name: "sqlite",
    test,
    afterAll,
    create: async () => {
      const path = freshPath();
      const open = (): SqliteLog => new SqliteLog(sqliteLogOptions({ path, searchRanksUpTo: 20 }));
      return { subject: open(), reopen: async () => open(), copy: () => copyDatabase(path) };
    },
  });

  testCheckpointer({
    name: "sqlite",
    test,
    afterAll,
    create: async () => {
      const path = freshPath();
      const clock = manualClock();
      const open = (): Checkpointer => sqliteCheckpointer({ path, now: clock.now, searchRanksUpTo: 20 });
      return { subject: open(), reopen: async () => open(), clock, copy: () => copyDatabase(path) };
    },
  });
});
