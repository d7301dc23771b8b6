import { afterAll, beforeAll, test } from "vitest";
import { below } from "../../../test/bucket-below.ts";
import { testFeatures } from "../../../test/feature-sample.ts";
import { bucketOfTests, type TestBucket } from "../../../test/oci-stand-in/test-bucket.ts";
import type { ObjectBucket } from "../../driver/object-bucket.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testBucket } from "../../testing/test-bucket.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { OciBucket } from "./bucket.ts";
import { createClient } from "./connect.ts";
import { OCIBucketBackend } from "./index.ts";
import { OciTransport } from "./transport.ts";

// Thousands of requests in one case, each of them signed.
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await bucketOfTests();
});
afterAll(() => bucket.close());

testBucket({
  name: "oci",
  test,
  afterAll,
  create: async () => {
    const place = bucket.emptyPlace();
    const { namespace, compartmentId, bucketName, prefix } = place;
    const open = async (): Promise<ObjectBucket> => {
      const transport = new OciTransport(30_000);
      const client = await createClient(place, transport);
      return below(
        prefix,
        new OciBucket(client, transport, { bucketName, namespace, compartmentId, ownsClient: true }),
      );
    };
    const cleanup = () => bucket.clear(prefix);
    const outage = bucket.outage === undefined ? {} : { outage: bucket.outage };
    return { subject: await open(), reopen: open, cleanup, ...outage };
  },
});

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
