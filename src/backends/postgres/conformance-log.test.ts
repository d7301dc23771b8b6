import { afterAll, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { startProxy } from "../../../test/services/tcp-proxy.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { postgresLogOptions } from "./index.ts";
import { PostgresLog } from "./log.ts";

await describeWithService("postgres", (url) => {
  const { schema, prefix, dispose } = postgresPlace(url);
  afterAll(dispose);

  testThreadLog({
    name: "postgres",
    test,
    afterAll,
    create: async () => {
      const proxy = await startProxy(url);
      const options = postgresLogOptions({ dsn: proxy.url, schema, tablePrefix: prefix() });
      const open = (): PostgresLog => new PostgresLog(options);
      return { subject: open(), reopen: async () => open(), outage: proxy.outage, cleanup: proxy.stop };
    },
  });
});
