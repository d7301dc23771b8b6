import { afterAll, test } from "vitest";
import { testFeatures } from "../../../test/feature-sample.ts";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { s3Place } from "../../../test/s3/test-bucket.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { S3BucketCheckpointer } from "./index.ts";
import { S3Log } from "./log.ts";

// Hundreds of signed requests in one case.
await describeWithService("s3", async (url) => {
  const server = await behindProxy(url);
  afterAll(() => server.cleanup());

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
