import { expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { MemoryBucket } from "../../../test/memory-bucket.ts";
import { Store } from "../store.ts";
import { KeyValueStoreDriver } from "./driver.ts";

test("an item that is written without a pause says when its writes are more than it keeps in mind", async () => {
  const bucket = new MemoryBucket();
  let now = 1_000_000;
  const driver = new KeyValueStoreDriver(
    { name: "bucket", durability: "memory", open: async () => bucket, classify: () => undefined },
    { prefix: "", clock: { now: async () => now } },
  );
  const store = new Store(driver, { retry: { attempts: 1 } });
  for (let count = 0; count < 2_000; count++) await store.put(["n"], "k", count, { index: false });
  expect(await failureOf(() => store.put(["n"], "k", 0))).toMatchObject({ code: "RATE_LIMITED" });
  await store.put(["n"], "other", 0);
  now += 700_000;
  await store.put(["n"], "k", "later");
  expect(await store.get(["n"], "k")).toBe("later");
}, 60_000);
