import { afterAll, test } from "vitest";
import { MemoryBucket } from "../../../test/memory-bucket.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testStore } from "../../testing/test-store.ts";
import { Store } from "../store.ts";
import { KeyValueStoreDriver } from "./driver.ts";

testStore({
  name: "a bucket",
  test,
  afterAll,
  create: async () => {
    const bucket = new MemoryBucket();
    const clock = manualClock();
    const open = (): Store =>
      new Store(
        new KeyValueStoreDriver(
          { name: "bucket", durability: "memory", open: async () => bucket, classify: () => undefined },
          { prefix: "p/", clock: { now: async () => clock.now() } },
        ),
      );
    const copy = async () => {
      const kept = new Map(bucket.objects);
      return async () => {
        bucket.objects.clear();
        for (const [name, object] of kept) bucket.objects.set(name, object);
      };
    };
    return { subject: open(), reopen: async () => open(), clock, copy };
  },
});
