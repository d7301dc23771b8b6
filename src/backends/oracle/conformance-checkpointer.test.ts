import { afterAll, test } from "vitest";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { dsnOf, oraclePlace } from "../../../test/oracle-stand-in/oracle-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { testCheckpointer } from "../../testing/test-checkpointer.ts";
import { oracleCheckpointer } from "./index.ts";

await describeWithService("postgres", async (url) => {
  const { user, password, tableName, dispose } = await oraclePlace(url);
  afterAll(dispose);

  // No clock: what has expired is for the server's to say, and that cannot be moved.
  testCheckpointer({
    name: "oracle",
    test,
    afterAll,
    create: async () => {
      const { url: proxied, ...rest } = await behindProxy(url);
      const options = { dsn: dsnOf(proxied), user, password, tableName: tableName() };
      const open = (): Checkpointer => oracleCheckpointer(options);
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });
});
