import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { sqliteStore } from "../../src/backends/sqlite/index.ts";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { testStore } from "../../src/testing/test-store.ts";
import { copyDatabase } from "../sqlite/copy-database.ts";
import { servedStore } from "./served-store.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-http-store-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;

/** A tenant's store passes the same suite as a whole one. */
describe.each([undefined, "acme"])("HTTP in front of SQLite, tenant %s", (tenant) => {
  testStore({
    name: `http to sqlite${tenant === undefined ? "" : ", one tenant"}`,
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const path = join(folder, `${++files}.db`);
      const behind = sqliteStore({ path, now: clock.now });
      const there = await servedStore(behind, tenant === undefined ? {} : { tenant });
      const subject = there.client();
      await subject.connect();
      const [copy, cleanup] = [() => copyDatabase(path), async () => there[Symbol.asyncDispose]()];
      return { subject, reopen: async () => there.client(), clock, copy, cleanup };
    },
  });
});
