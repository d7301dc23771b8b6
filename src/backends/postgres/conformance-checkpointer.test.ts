import { afterAll, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { startProxy } from "../../../test/services/tcp-proxy.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { testCheckpointer } from "../../testing/test-checkpointer.ts";
import { postgresqlCheckpointer } from "./index.ts";

await describeWithService("postgres", (url) => {
  const { schema, prefix, dispose } = postgresPlace(url);
  afterAll(dispose);

  // No clock: what has expired is for the server's to say, and that cannot be moved.
  testCheckpointer({
    name: "postgres",
    test,
    afterAll,
    create: async () => {
      const proxy = await startProxy(url);
      const options = { dsn: proxy.url, schema, tablePrefix: prefix() };
      const open = (): Checkpointer => postgresqlCheckpointer(options);
      return { subject: open(), reopen: async () => open(), outage: proxy.outage, cleanup: proxy.stop };
    },
  });
});
