import { MemoryLog } from "../../../src/backends/memory/log.ts";
import { checkpointerSuite } from "../../../src/testing/checkpointer-cases/suite.ts";
import { FaultyLog } from "../../../src/testing/faulty-log.ts";
import { manualClock } from "../../../src/testing/manual-clock.ts";
import { runCase } from "../../../src/testing/run-case.ts";
import type { BrokenKind } from "../fault.ts";
import { oneNamed } from "../one-named.ts";
import { answeringFaults } from "./answering-faults.ts";
import type { CheckpointerFault } from "./fault.ts";
import { optionFaults } from "./option-faults.ts";
import { savingFaults } from "./saving-faults.ts";
import { troubleFaults } from "./trouble-faults.ts";

export const CHECKPOINTERS: BrokenKind<CheckpointerFault> = {
  faults: [...savingFaults, ...answeringFaults, ...optionFaults, ...troubleFaults],
  cases: checkpointerSuite.cases,
  outcomeOf: (name, { checkpointer }) =>
    runCase(checkpointerSuite, oneNamed(checkpointerSuite.cases, name), async () => {
      const clock = manualClock();
      let down = false;
      const faultAt = () => (down ? ({ when: "before", code: "PERMISSION_DENIED" } as const) : undefined);
      const subject = checkpointer(new FaultyLog(new MemoryLog(clock), { faultAt }), clock);
      const outage = async () => {
        down = true;
        return async () => {
          down = false;
        };
      };
      return { subject, clock, outage };
    }),
};
