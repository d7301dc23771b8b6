import { afterAll, beforeAll, test } from "vitest";
import { testFeatures } from "../../../test/feature-sample.ts";
import { bucketOfTests, type TestBucket } from "../../../test/oci-stand-in/test-bucket.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { OCIBucketBackend } from "./index.ts";

// Thousands of requests in one case, each of them signed.
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await bucketOfTests();
});
afterAll(() => bucket.close());

testThreadLog({
  name: "oci",
  test,
  afterAll,
  create: async () => {
    const options = bucket.emptyPlace();
    const cleanup = () => bucket.clear(options.prefix);
    const outage = bucket.outage === undefined ? {} : { outage: bucket.outage };
    return { subject: bucket.openLog(options), reopen: async () => bucket.openLog(options), cleanup, ...outage };
  },
});

testFeatures({
  name: "oci",
  test,
  afterAll,
  create: async () => {
    const place = bucket.emptyPlace();
    const clock = manualClock();
    const retry = { attempts: 2, baseDelayMs: 1 };
    const open = () => new OCIBucketBackend({ ...place, now: clock.now, retry });
    const cleanup = () => bucket.clear(place.prefix);
    const outage = bucket.outage === undefined ? {} : { outage: bucket.outage };
    return { subject: open(), reopen: async () => open(), clock, cleanup, ...outage };
  },
});
