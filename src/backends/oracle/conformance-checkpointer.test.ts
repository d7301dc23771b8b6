import { afterAll, test } from "vitest";
import { describeWithOracle } from "../../../test/oracle-stand-in/with-oracle.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { testCheckpointer } from "../../testing/test-checkpointer.ts";
import { oracleCheckpointer } from "./index.ts";

await describeWithOracle(({ overLine }) => {
  // No clock: what has expired is for the server's to say, and that cannot be moved.
  testCheckpointer({
    name: "oracle",
    test,
    afterAll,
    create: async () => {
      const { options, ...rest } = await overLine();
      const open = (): Checkpointer => oracleCheckpointer(options);
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });
});
