import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { ReadThroughLog } from "../../../test/read-access/read-through-log.ts";
import { ReadOnlyLog } from "../../checkpoint/log/read-only-log.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { SqliteLog } from "./log.ts";
import { sqliteLogOptions } from "./options.ts";

testThreadLog({
  name: "sqlite with read access",
  test,
  afterAll,
  create: async () => {
    const root = await mkdtemp(join(tmpdir(), "holdfast-sqlite-read-"));
    const path = join(root, "a.db");
    const open = async (): Promise<ReadThroughLog> => {
      const writer = new SqliteLog(sqliteLogOptions({ path }));
      // Creates the tables.
      await writer.tail("t");
      return new ReadThroughLog(writer, new ReadOnlyLog(new SqliteLog(sqliteLogOptions({ path, access: "read" }))));
    };
    return { subject: await open(), reopen: open, cleanup: () => rm(root, { recursive: true }) };
  },
});
