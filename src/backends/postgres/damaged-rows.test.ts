import { afterAll } from "vitest";
import { damagedRowsAreNamed } from "../../../test/damaged-rows.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { postgresLogOptions } from "./checkpointer.ts";
import { PostgresLog } from "./log.ts";

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  damagedRowsAreNamed(async () => {
    const tablePrefix = place.prefix();
    const log = new PostgresLog(postgresLogOptions({ dsn: url, schema, tablePrefix }));
    return { log, damage: (statement) => sql(statement(`${schema}.${tablePrefix}`)) };
  });
});
