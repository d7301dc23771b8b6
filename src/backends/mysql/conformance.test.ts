import { afterAll, test } from "vitest";
import { testFeatures } from "../../../test/feature-sample.ts";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { mysqlPlace } from "../../../test/services/mysql-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { mysqlLogOptions } from "./checkpointer.ts";
import { mysqlCheckpointer } from "./index.ts";
import { MysqlLog } from "./log.ts";

await describeWithService("mysql", async (url) => {
  const place = await mysqlPlace(url);
  afterAll(place.dispose);

  testThreadLog({
    name: "mysql",
    test,
    afterAll,
    create: async () => {
      const { url: dsn, ...rest } = await behindProxy(place.url);
      const options = mysqlLogOptions({ dsn, tablePrefix: place.prefix(), searchRanksUpTo: 20 });
      const open = (): MysqlLog => new MysqlLog(options);
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });

  // No clock: the server's clock decides about expiry, and a test cannot move it.
  testFeatures({
    name: "mysql",
    test,
    afterAll,
    create: async () => {
      const { url: dsn, ...rest } = await behindProxy(place.url);
      const options = { dsn, tablePrefix: place.prefix(), searchRanksUpTo: 20 };
      const open = (): Checkpointer => mysqlCheckpointer(options);
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });
});
