import { vi } from "vitest";
import { OracleCheckpointSaver } from "../../src/backends/oracle/index.ts";
import { validate } from "../langgraph/validation-suite.ts";
import { describeWithOracle } from "../oracle-stand-in/with-oracle.ts";

vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

/** LangGraph's own suite whole, on the saver of Oracle Database. */
await describeWithOracle(({ options }) => {
  validate("oracle", async () => {
    const where = options();
    const opened: OracleCheckpointSaver[] = [];
    return {
      open: () => {
        const saver = new OracleCheckpointSaver(where);
        opened.push(saver);
        return saver;
      },
      cleanup: async () => {
        for (const saver of opened) await saver.close();
      },
    };
  });
});
