import { afterAll, describe, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { testThreadLog } from "../../src/testing/test-thread-log.ts";
import { neighboursOf } from "../neighbours-of-a-prefix.ts";
import { logOn, servedBehindProxy } from "./behind-proxy.ts";
import { served, sqliteFolder } from "./served.ts";

/** As long as a name may be, and full of what a careless query takes for a pattern. */
const tenant = `${"t_".repeat(31)}t`;

describe("HTTP as one tenant among others", () => {
  testThreadLog({
    name: "http to a tenant's part of memory",
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const inner = new MemoryLog(clock);
      const untouched = await neighboursOf(inner, `${tenant}/`);
      const there = await served(inner, { now: clock.now, tenant });
      const { baseUrl, outage, cleanup } = await servedBehindProxy(there);
      return {
        subject: logOn(there, baseUrl),
        reopen: async () => logOn(there, baseUrl),
        clock,
        outage,
        cleanup: () => untouched().then(cleanup),
      };
    },
  });

  testThreadLog({
    name: "http to a tenant's part of sqlite",
    test,
    afterAll,
    create: async () => {
      const { open, remove } = await sqliteFolder();
      const inner = open();
      const untouched = await neighboursOf(inner, `${tenant}/`);
      const there = await served(inner, { tenant });
      const { baseUrl, outage, cleanup } = await servedBehindProxy(there);
      return {
        subject: logOn(there, baseUrl),
        reopen: async () => logOn(there, baseUrl),
        outage,
        cleanup: () => untouched().then(cleanup).then(remove),
      };
    },
  });
});
