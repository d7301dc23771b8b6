import { afterAll, test } from "vitest";
import { describeWithOracle } from "../../../test/oracle-stand-in/with-oracle.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { oracleLogOptions } from "./checkpointer.ts";
import { OracleLog } from "./log.ts";

// The checkpointer's suite is conformance-checkpointer.test.ts: it takes minutes, and `npm run test:all` runs it.
await describeWithOracle(({ overLine }) => {
  testThreadLog({
    name: "oracle",
    test,
    afterAll,
    create: async () => {
      const { options, ...rest } = await overLine();
      const checked = oracleLogOptions(options);
      const open = (): OracleLog => new OracleLog(checked);
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });
});
