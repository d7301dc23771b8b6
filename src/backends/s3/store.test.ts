import { afterAll, test } from "vitest";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { s3Place } from "../../../test/s3/test-bucket.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Store } from "../../store/store.ts";
import { testStore } from "../../testing/test-store.ts";
import { s3Store } from "./store.ts";

// Thousands of signed requests in one case.
await describeWithService("s3", async (url) => {
  const server = await behindProxy(url);
  afterAll(() => server.cleanup());

  testStore({
    name: "s3",
    test,
    afterAll,
    create: async () => {
      const { bucketName, prefix, endpoint = "", credentials } = s3Place(server.url);
      const place = { bucketName, prefix, endpoint, ...(credentials !== undefined && { credentials }) };
      const open = (): Store => s3Store({ ...place, retry: { attempts: 2, baseDelayMs: 1 } });
      return { subject: open(), reopen: async () => open(), outage: server.outage };
    },
  });
});
