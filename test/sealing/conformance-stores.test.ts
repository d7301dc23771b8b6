import { afterAll, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { sqliteStore } from "../../src/backends/sqlite/store.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { testStore } from "../../src/testing/test-store.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const { keyring: shared } = await sampleKeyring();

testStore({
  name: "memory, sealed",
  test,
  afterAll,
  create: async () => ({ subject: new InMemoryStore({ sealing: new Sealing({ keyring: shared }) }) }),
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
