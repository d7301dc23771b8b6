import { afterAll, describe, test } from "vitest";
import { RewindableStoreDriver } from "../../../test/broken/stores/rewindable-driver.ts";
import { servedStore } from "../../../test/http/served-store.ts";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { Store } from "../../store/store.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testStore } from "../../testing/test-store.ts";
import { MemoryStoreDriver } from "../memory/store-driver.ts";

describe("HTTP in front of memory", () => {
  testStore({
    name: "http to memory",
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const driver = new RewindableStoreDriver(() => new MemoryStoreDriver(clock));
      const there = await servedStore(new Store(driver));
      const { url, outage, cleanup } = await behindProxy(`http://127.0.0.1:${there.service.port}`);
      const subject = there.client({ baseUrl: url, retry: { attempts: 4, baseDelayMs: 1 } });
      await subject.connect();
      const reopen = async () => there.client({ baseUrl: url });
      const { copy } = driver;
      return {
        subject,
        reopen,
        clock,
        copy,
        outage,
        cleanup: () => cleanup().then(() => there[Symbol.asyncDispose]()),
      };
    },
  });
});
