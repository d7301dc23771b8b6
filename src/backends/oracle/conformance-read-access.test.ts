import { afterAll, test } from "vitest";
import { describeWithOracle } from "../../../test/oracle-stand-in/with-oracle.ts";
import { ReadThroughLog } from "../../../test/read-access/read-through-log.ts";
import { ReadOnlyLog } from "../../checkpoint/log/read-only-log.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { oracleLogOptions } from "./checkpointer.ts";
import { OracleLog } from "./log.ts";

await describeWithOracle(({ options }) => {
  testThreadLog({
    name: "oracle with read access",
    test,
    afterAll,
    create: async () => {
      const where = { ...options(), maxConnections: 3 };
      const open = async (): Promise<ReadThroughLog> => {
        const writer = new OracleLog(oracleLogOptions(where));
        await writer.connect();
        const reader = new OracleLog(oracleLogOptions({ ...where, access: "read" }));
        return new ReadThroughLog(writer, new ReadOnlyLog(reader));
      };
      return { subject: await open(), reopen: open };
    },
  });
});
