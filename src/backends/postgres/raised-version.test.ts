import { afterAll } from "vitest";
import { raisedVersionIsNoticed } from "../../../test/raised-version.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { postgresqlCheckpointer, postgresqlStore } from "./index.ts";
import { tableNames } from "./layout.ts";

await describeWithService("postgres", (url) => {
  const { schema, sql, prefix, dispose } = postgresPlace(url);
  afterAll(dispose);

  raisedVersionIsNoticed(async () => {
    const options = { dsn: url, schema, tablePrefix: prefix() };
    const { version: table } = tableNames(schema, options.tablePrefix);
    return {
      checkpointer: postgresqlCheckpointer(options),
      store: postgresqlStore(options),
      raise: (part, version) => sql(`UPDATE ${table} SET version = ${version} WHERE part = '${part}'`),
    };
  });
});
