import { afterAll, test } from "vitest";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { mysqlPlace } from "../../../test/services/mysql-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Store } from "../../store/store.ts";
import { testStore } from "../../testing/test-store.ts";
import { mysqlStore } from "./store.ts";

await describeWithService("mysql", async (url) => {
  const place = await mysqlPlace(url);
  afterAll(place.dispose);

  testStore({
    name: "mysql",
    test,
    afterAll,
    create: async () => {
      const { url: dsn, ...rest } = await behindProxy(place.url);
      const tablePrefix = place.prefix();
      const open = (): Store => mysqlStore({ dsn, tablePrefix });
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });
});
