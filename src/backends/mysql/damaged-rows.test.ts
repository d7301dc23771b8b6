import { afterAll } from "vitest";
import { damagedRowsAreNamed } from "../../../test/damaged-rows.ts";
import { mysqlPlace } from "../../../test/services/mysql-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { mysqlLogOptions } from "./checkpointer.ts";
import { MysqlLog } from "./log.ts";

await describeWithService("mysql", async (url) => {
  const place = await mysqlPlace(url);
  afterAll(place.dispose);

  damagedRowsAreNamed(async () => {
    const tablePrefix = place.prefix();
    const log = new MysqlLog(mysqlLogOptions({ dsn: place.url, tablePrefix }));
    return { log, damage: (statement) => place.sql(statement(`{database}.${tablePrefix}`)) };
  });
});
