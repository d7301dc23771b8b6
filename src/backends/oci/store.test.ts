import { afterAll, beforeAll, test } from "vitest";
import { bucketOfTests, type TestBucket } from "../../../test/oci-stand-in/test-bucket.ts";
import type { Store } from "../../store/store.ts";
import { testStore } from "../../testing/test-store.ts";
import { ociStore } from "./store.ts";

// Thousands of requests in one case, each of them signed.
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await bucketOfTests();
});
afterAll(() => bucket.close());

testStore({
  name: "oci",
  test,
  afterAll,
  create: async () => {
    // Without the options that only a checkpointer has.
    const { client: _, sealing: __, ...place } = bucket.emptyPlace();
    const open = (): Store => ociStore({ ...place, retry: { attempts: 2, baseDelayMs: 1 } });
    const cleanup = () => bucket.clear(place.prefix);
    const outage = bucket.outage === undefined ? {} : { outage: bucket.outage };
    return { subject: open(), reopen: async () => open(), cleanup, ...outage };
  },
});
