import { afterAll, test } from "vitest";
import { below } from "../../../test/bucket-below.ts";
import { dynamodbPlace } from "../../../test/dynamodb/test-table.ts";
import { testFeatures } from "../../../test/feature-sample.ts";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { ObjectBucket } from "../../driver/object-bucket.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testBucket } from "../../testing/test-bucket.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { DynamodbCheckpointer } from "./index.ts";
import { DynamodbLog, dynamodbSource } from "./log.ts";

await describeWithService("dynamodb", async (url) => {
  const server = await behindProxy(url);
  afterAll(() => server.cleanup());
  const emptyPlace = () => dynamodbPlace(server.url);

  testBucket({
    name: "dynamodb",
    test,
    afterAll,
    create: async () => {
      const { prefix, open: reach } = dynamodbSource("test", emptyPlace());
      const open = async (): Promise<ObjectBucket> => below(prefix, await reach());
      return { subject: await open(), reopen: open, outage: server.outage };
    },
  });

  testThreadLog({
    name: "dynamodb",
    test,
    afterAll,
    create: async () => {
      const options = { ...emptyPlace(), serverDurability: "fsync" } as const;
      const open = () => new DynamodbLog(options);
      return { subject: open(), reopen: async () => open(), outage: server.outage };
    },
  });

  testFeatures({
    name: "dynamodb",
    test,
    afterAll,
    create: async () => {
      const place = emptyPlace();
      const clock = manualClock();
      const retry = { attempts: 2, baseDelayMs: 1 };
      const open = () => new DynamodbCheckpointer({ ...place, now: clock.now, retry });
      return { subject: open(), reopen: async () => open(), clock, outage: server.outage };
    },
  });
});
