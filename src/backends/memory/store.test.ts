import { afterAll, test } from "vitest";
import { RewindableStoreDriver } from "../../../test/broken/stores/rewindable-driver.ts";
import { Store } from "../../store/store.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testStore } from "../../testing/test-store.ts";
import { InMemoryStore } from "./store.ts";
import { MemoryStoreDriver } from "./store-driver.ts";

testStore({
  name: "memory, put back",
  test,
  afterAll,
  create: async () => {
    const clock = manualClock();
    const driver = new RewindableStoreDriver(() => new MemoryStoreDriver(clock));
    const open = (): Store => new Store(driver);
    return { subject: open(), reopen: async () => open(), clock, copy: driver.copy };
  },
});

testStore({
  name: "memory",
  test,
  afterAll,
  create: async () => {
    const clock = manualClock();
    return { subject: new InMemoryStore({ now: clock.now }), clock };
  },
});
