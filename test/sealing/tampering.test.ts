import { MemoryLog } from "../../src/backends/memory/log.ts";
import { SqliteLog } from "../../src/backends/sqlite/log.ts";
import { sqliteLogOptions } from "../../src/backends/sqlite/options.ts";
import { testTampering } from "./tampering.ts";

testTampering("memory", async () => ({ log: new MemoryLog(), dispose: async () => undefined }), 1000);

testTampering("sqlite", async () => {
  const log = new SqliteLog(sqliteLogOptions({ path: ":memory:" }));
  return { log, dispose: () => log.close() };
});
