import { afterAll } from "vitest";
import { raisedVersionIsNoticed } from "../../../test/raised-version.ts";
import { mysqlPlace } from "../../../test/services/mysql-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { mysqlCheckpointer, mysqlStore } from "./index.ts";

await describeWithService("mysql", async (url) => {
  const place = await mysqlPlace(url);
  afterAll(place.dispose);

  raisedVersionIsNoticed(async () => {
    const options = { dsn: place.url, tablePrefix: place.prefix() };
    return {
      checkpointer: mysqlCheckpointer(options),
      store: mysqlStore(options),
      raise: (part, version) =>
        place.sql(`UPDATE {database}.${options.tablePrefix}schema SET version = ${version} WHERE part = '${part}'`),
    };
  });
});
