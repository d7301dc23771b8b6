import { afterAll, describe, test } from "vitest";
import { testFeatures } from "../../../test/feature-sample.ts";
import { logOn, servedBehindProxy } from "../../../test/http/behind-proxy.ts";
import { served } from "../../../test/http/served.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { MemoryLog } from "../memory/log.ts";

const retry = { attempts: 4, baseDelayMs: 1 };

describe("HTTP in front of memory", () => {
  testThreadLog({
    name: "http to memory",
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const there = await served(new MemoryLog(clock), { now: clock.now });
      const { baseUrl, outage, cleanup } = await servedBehindProxy(there);
      return { subject: logOn(there, baseUrl), clock, reopen: async () => logOn(there, baseUrl), outage, cleanup };
    },
  });

  testFeatures({
    name: "http to memory",
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const there = await served(new MemoryLog(clock), { now: clock.now });
      const { baseUrl, outage, cleanup } = await servedBehindProxy(there);
      const open = () => there.client({ now: clock.now, baseUrl, retry });
      return { subject: open(), clock, reopen: async () => open(), outage, cleanup };
    },
  });
});
