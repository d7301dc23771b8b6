import { afterAll, test } from "vitest";
import { MemoryStoreDriver } from "../../src/backends/memory/store-driver.ts";
import { sqliteStore } from "../../src/backends/sqlite/store.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { Store } from "../../src/store/store.ts";
import { testStore } from "../../src/testing/test-store.ts";
import { RewindableStoreDriver } from "../broken/stores/rewindable-driver.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const { keyring: shared } = await sampleKeyring();

testStore({
  name: "memory, sealed",
  test,
  afterAll,
  create: async () => {
    const driver = new RewindableStoreDriver(() => new MemoryStoreDriver());
    const open = (): Store => new Store(driver, { sealing: new Sealing({ keyring: shared }) });
    return { subject: open(), reopen: async () => open(), copy: driver.copy };
  },
});

testStore({
  name: "sqlite, sealed except vectors",
  test,
  afterAll,
  create: async () => {
    const sealing = new Sealing({ keyring: shared, vectors: "plain" });
    return { subject: sqliteStore({ path: ":memory:", sealing }) };
  },
});
