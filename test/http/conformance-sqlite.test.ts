import { afterAll, describe, test } from "vitest";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { testThreadLog } from "../../src/testing/test-thread-log.ts";
import { testFeatures } from "../feature-sample.ts";
import { logOn, servedBehindProxy } from "./behind-proxy.ts";
import { served, sqliteFolder } from "./served.ts";

const retry = { attempts: 4, baseDelayMs: 1 };

describe("HTTP in front of SQLite", () => {
  testThreadLog({
    name: "http to sqlite",
    test,
    afterAll,
    create: async () => {
      const { open, remove } = await sqliteFolder();
      const there = await served(open());
      const { baseUrl, outage, cleanup } = await servedBehindProxy(there);
      return {
        subject: logOn(there, baseUrl),
        reopen: async () => logOn(there, baseUrl),
        outage,
        cleanup: () => cleanup().then(remove),
      };
    },
  });

  testFeatures({
    name: "http to sqlite",
    test,
    afterAll,
    create: async () => {
      const { open, remove } = await sqliteFolder();
      const clock = manualClock();
      const there = await served(open(), { now: clock.now });
      const { baseUrl, outage, cleanup } = await servedBehindProxy(there);
      const client = () => there.client({ now: clock.now, baseUrl, retry });
      return {
        subject: client(),
        reopen: async () => client(),
        clock,
        outage,
        cleanup: () => cleanup().then(remove),
      };
    },
  });
});
