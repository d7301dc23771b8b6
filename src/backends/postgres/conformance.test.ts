import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { afterAll, test } from "vitest";
import { startProxy } from "../../../test/services/tcp-proxy.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { testCheckpointer } from "../../testing/test-checkpointer.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { postgresLogOptions, postgresqlCheckpointer } from "./index.ts";
import { PostgresLog } from "./log.ts";

await describeWithService("postgres", (url) => {
  const schema = `conformance_${randomBytes(6).toString("hex")}`;
  afterAll(async () => {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await client.end();
  });
  let cases = 0;
  const place = (dsn: string) => ({ dsn, schema, tablePrefix: `case_${++cases}_`, connectTimeoutMs: 5_000 });

  testThreadLog({
    name: "postgres",
    test,
    afterAll,
    create: async () => {
      const proxy = await startProxy(url);
      const options = postgresLogOptions(place(proxy.url));
      const open = (): PostgresLog => new PostgresLog(options);
      return { subject: open(), reopen: async () => open(), outage: proxy.outage, cleanup: proxy.stop };
    },
  });

  testCheckpointer({
    name: "postgres",
    test,
    afterAll,
    create: async () => {
      const proxy = await startProxy(url);
      const options = place(proxy.url);
      const open = (): Checkpointer => postgresqlCheckpointer(options);
      return { subject: open(), reopen: async () => open(), outage: proxy.outage, cleanup: proxy.stop };
    },
  });
});
