import { afterAll, test } from "vitest";
import { describeWithOracle } from "../../../test/oracle-stand-in/with-oracle.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testSaver } from "../../testing/test-saver.ts";
import { OracleCheckpointSaver } from "./index.ts";

// saver.test.ts has random operations; the suite of LangGraph itself is a campaign.
await describeWithOracle(({ options }) => {
  testSaver({
    name: "oracle",
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const where = { ...options(), now: clock.now };
      const opened: OracleCheckpointSaver[] = [];
      const open = (): OracleCheckpointSaver => {
        const saver = new OracleCheckpointSaver(where);
        opened.push(saver);
        return saver;
      };
      return {
        subject: open(),
        clock,
        reopen: async () => open(),
        cleanup: async () => {
          for (const saver of opened) await saver.close();
        },
      };
    },
  });
});
