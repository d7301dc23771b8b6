import { afterAll, test } from "vitest";
import { below } from "../../../test/bucket-below.ts";
import { testFeatures } from "../../../test/feature-sample.ts";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { s3Place } from "../../../test/s3/test-bucket.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { ObjectBucket } from "../../driver/object-bucket.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testBucket } from "../../testing/test-bucket.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { S3Bucket } from "./bucket.ts";
import { createClient, loadSdk } from "./connect.ts";
import { S3BucketCheckpointer } from "./index.ts";
import { S3Log } from "./log.ts";

// Hundreds of signed requests in one case.
await describeWithService("s3", async (url) => {
  const server = await behindProxy(url);
  afterAll(() => server.cleanup());

  testBucket({
    name: "s3",
    test,
    afterAll,
    create: async () => {
      const { bucketName, prefix, ...connection } = s3Place(server.url);
      const sdk = await loadSdk();
      const place = { bucketName, access: "write", probePrefix: prefix, requestTimeoutMs: 30_000 } as const;
      const open = (): ObjectBucket =>
        below(prefix, new S3Bucket(sdk, createClient(sdk, connection), { ...place, ownsClient: true }));
      return { subject: open(), reopen: async () => open(), outage: server.outage };
    },
  });

  testThreadLog({
    name: "s3",
    test,
    afterAll,
    create: async () => {
      const { bucketName, prefix, ...connection } = s3Place(server.url);
      const place = { bucketName, prefix, client: undefined, requestTimeoutMs: 30_000 };
      const open = () => new S3Log({ ...place, connection, serverDurability: "fsync" });
      return { subject: open(), reopen: async () => open(), outage: server.outage };
    },
  });

  testFeatures({
    name: "s3",
    test,
    afterAll,
    create: async () => {
      const place = s3Place(server.url);
      const clock = manualClock();
      const retry = { attempts: 2, baseDelayMs: 1 };
      const open = () => new S3BucketCheckpointer({ ...place, now: clock.now, retry });
      return { subject: open(), reopen: async () => open(), clock, outage: server.outage };
    },
  });
});
