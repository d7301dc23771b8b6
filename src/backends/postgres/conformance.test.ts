import { afterAll, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { startProxy } from "../../../test/services/tcp-proxy.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { testCheckpointer } from "../../testing/test-checkpointer.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { type PostgresqlCheckpointerOptions, postgresLogOptions, postgresqlCheckpointer } from "./index.ts";
import { PostgresLog } from "./log.ts";

await describeWithService("postgres", (url) => {
  const { schema, prefix, dispose } = postgresPlace(url);
  afterAll(dispose);
  const options = (dsn: string): PostgresqlCheckpointerOptions => ({ dsn, schema, tablePrefix: prefix() });

  testThreadLog({
    name: "postgres",
    test,
    afterAll,
    create: async () => {
      const proxy = await startProxy(url);
      const place = postgresLogOptions(options(proxy.url));
      const open = (): PostgresLog => new PostgresLog(place);
      return { subject: open(), reopen: async () => open(), outage: proxy.outage, cleanup: proxy.stop };
    },
  });

  // No clock: what has expired is for the server's to say, and that cannot be moved.
  testCheckpointer({
    name: "postgres",
    test,
    afterAll,
    create: async () => {
      const proxy = await startProxy(url);
      const place = options(proxy.url);
      const open = (): Checkpointer => postgresqlCheckpointer(place);
      return { subject: open(), reopen: async () => open(), outage: proxy.outage, cleanup: proxy.stop };
    },
  });
});
