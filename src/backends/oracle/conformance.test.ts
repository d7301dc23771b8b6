import { afterAll, test } from "vitest";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { dsnOf, oraclePlace } from "../../../test/oracle-stand-in/oracle-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { oracleLogOptions } from "./checkpointer.ts";
import { OracleLog } from "./log.ts";

await describeWithService("postgres", async (url) => {
  const { user, password, tableName, dispose } = await oraclePlace(url);
  afterAll(dispose);

  testThreadLog({
    name: "oracle",
    test,
    afterAll,
    create: async () => {
      const { url: proxied, ...rest } = await behindProxy(url);
      const options = oracleLogOptions({ dsn: dsnOf(proxied), user, password, tableName: tableName() });
      const open = (): OracleLog => new OracleLog(options);
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });
});
