import { afterAll, test } from "vitest";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { copyTables } from "../../../test/services/copied-tables.ts";
import { CREATE_VECTOR } from "../../../test/services/pgvector.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Store } from "../../store/store.ts";
import { testStore } from "../../testing/test-store.ts";
import { postgresqlStore } from "./store.ts";

for (const service of ["postgres", "pgvector"] as const) {
  await describeWithService(service, (url) => {
    const { schema, prefix, sql, dispose } = postgresPlace(url);
    afterAll(dispose);

    testStore({
      name: service,
      test,
      afterAll,
      create: async () => {
        if (service === "pgvector") await sql(CREATE_VECTOR);
        const { url: dsn, ...rest } = await behindProxy(url);
        const tablePrefix = prefix();
        const open = (): Store => postgresqlStore({ dsn, schema, tablePrefix });
        const copy = () => copyTables(sql, schema, `${tablePrefix}item`);
        return { subject: open(), reopen: async () => open(), copy, ...rest };
      },
    });
  });
}
