import { afterAll, test } from "vitest";
import { testFeatures } from "../../../test/feature-sample.ts";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { postgresLogOptions } from "./checkpointer.ts";
import { postgresqlCheckpointer } from "./index.ts";
import { PostgresLog } from "./log.ts";

await describeWithService("postgres", (url) => {
  const { schema, prefix, dispose } = postgresPlace(url);
  afterAll(dispose);

  testThreadLog({
    name: "postgres",
    test,
    afterAll,
    create: async () => {
      const { url: dsn, ...rest } = await behindProxy(url);
      const options = postgresLogOptions({ dsn, schema, tablePrefix: prefix(), searchRanksUpTo: 20 });
      const open = (): PostgresLog => new PostgresLog(options);
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });

  // No clock: the server's clock decides about expiry, and a test cannot move it.
  testFeatures({
    name: "postgres",
    test,
    afterAll,
    create: async () => {
      const { url: dsn, ...rest } = await behindProxy(url);
      const options = { dsn, schema, tablePrefix: prefix(), searchRanksUpTo: 20 };
      const open = (): Checkpointer => postgresqlCheckpointer(options);
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });
});
