import { MemoryStoreDriver } from "../../../src/backends/memory/store-driver.ts";
import type { BaseStore } from "../../../src/store/base-store.ts";
import { Store } from "../../../src/store/store.ts";
import type { Fixture } from "../../../src/testing/conformance-case.ts";
import { manualClock } from "../../../src/testing/manual-clock.ts";
import { runCase } from "../../../src/testing/run-case.ts";
import { storeSuite } from "../../../src/testing/store-cases/suite.ts";
import type { BrokenKind } from "../fault.ts";
import { oneNamed } from "../one-named.ts";
import { findingFaults } from "./finding-faults.ts";
import type { StoreFault } from "./reference-driver.ts";
import { RewindableStoreDriver } from "./rewindable-driver.ts";
import { writingFaults } from "./writing-faults.ts";

export const STORES: BrokenKind<StoreFault> = {
  faults: [...writingFaults, ...findingFaults],
  cases: storeSuite.cases,
  outcomeOf: (name, { driver }) =>
    runCase(storeSuite, oneNamed(storeSuite.cases, name), async (): Promise<Fixture<BaseStore>> => {
      const clock = manualClock();
      const storage = new RewindableStoreDriver(() => new MemoryStoreDriver(clock));
      const broken = driver(storage);
      const open = (): Store => new Store(broken);
      const { copy } = storage;
      return { subject: open(), clock, outage: () => broken.outage(), reopen: async () => open(), copy };
    }),
};
