import { afterAll, test } from "vitest";
import { ReadThroughLog } from "../../../test/read-access/read-through-log.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { ReadOnlyLog } from "../../checkpoint/log/read-only-log.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { postgresLogOptions } from "./checkpointer.ts";
import { PostgresLog } from "./log.ts";

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  afterAll(place.dispose);

  testThreadLog({
    name: "postgres with read access",
    test,
    afterAll,
    create: async () => {
      const where = { dsn: url, schema: place.schema, tablePrefix: place.prefix(), maxConnections: 3 };
      const open = async (): Promise<ReadThroughLog> => {
        const writer = new PostgresLog(postgresLogOptions(where));
        await writer.connect();
        const reader = new PostgresLog(postgresLogOptions({ ...where, access: "read" }));
        return new ReadThroughLog(writer, new ReadOnlyLog(reader));
      };
      return { subject: await open(), reopen: open };
    },
  });
});
