import { afterAll, test } from "vitest";
import { postgresLogOptions } from "../../src/backends/postgres/checkpointer.ts";
import { postgresqlCheckpointer } from "../../src/backends/postgres/index.ts";
import { PostgresLog } from "../../src/backends/postgres/log.ts";
import { testCheckpointer } from "../../src/testing/test-checkpointer.ts";
import { testThreadLog } from "../../src/testing/test-thread-log.ts";
import { behindProxy } from "../network/outage-proxy.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithPgbouncer } from "../services/with-pgbouncer.ts";

/** Both suites, whole, as they run against the server itself. */
await describeWithPgbouncer(["session", "transaction"], (pooledUrl, url, mode) => {
  const { schema, prefix, dispose } = postgresPlace(url);
  afterAll(dispose);

  testThreadLog({
    name: `postgres through pgbouncer, ${mode}`,
    test,
    afterAll,
    create: async () => {
      const { url: dsn, ...rest } = await behindProxy(pooledUrl);
      const options = postgresLogOptions({ dsn, schema, tablePrefix: prefix() });
      const open = (): PostgresLog => new PostgresLog(options);
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });

  testCheckpointer({
    name: `postgres through pgbouncer, ${mode}`,
    test,
    afterAll,
    create: async () => {
      const { url: dsn, ...rest } = await behindProxy(pooledUrl);
      const options = { dsn, schema, tablePrefix: prefix() };
      const open = (): ReturnType<typeof postgresqlCheckpointer> => postgresqlCheckpointer(options);
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });
});
