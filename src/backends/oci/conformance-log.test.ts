import { afterAll, beforeAll, test, vi } from "vitest";
import { bucketOfTests, type TestBucket } from "../../../test/oci-stand-in/test-bucket.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";

// Thousands of requests in one case, each of them signed.
vi.setConfig({ testTimeout: 240_000 });

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
    return { subject: bucket.openLog(options), reopen: async () => bucket.openLog(options), cleanup };
  },
});
