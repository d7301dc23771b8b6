import { afterAll, test } from "vitest";
import { testFeatures } from "../../../test/feature-sample.ts";
import { describeWithOracle } from "../../../test/oracle-stand-in/with-oracle.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { oracleCheckpointer } from "./index.ts";

await describeWithOracle(({ overLine }) => {
  // No clock: the server's clock decides about expiry, and a test cannot move it.
  testFeatures({
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
