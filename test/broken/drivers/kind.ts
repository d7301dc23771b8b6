import { MemoryLog } from "../../../src/backends/memory/log.ts";
import type { ThreadLog } from "../../../src/checkpoint/log/thread-log.ts";
import type { Fixture } from "../../../src/testing/conformance-case.ts";
import { manualClock } from "../../../src/testing/manual-clock.ts";
import { runCase } from "../../../src/testing/run-case.ts";
import { threadLogSuite } from "../../../src/testing/thread-log-cases/suite.ts";
import type { BrokenKind } from "../fault.ts";
import { oneNamed } from "../one-named.ts";
import { DRIVER_FAULTS } from "./every-fault.ts";
import type { DriverFault } from "./fault.ts";
import type { ReferenceLog } from "./reference-log.ts";

export const DRIVERS: BrokenKind<DriverFault> = {
  faults: DRIVER_FAULTS,
  cases: threadLogSuite.cases,
  outcomeOf: (name, { driver }) =>
    runCase(threadLogSuite, oneNamed(threadLogSuite.cases, name), async (): Promise<Fixture<ThreadLog>> => {
      const clock = manualClock();
      const subject = driver(new MemoryLog(clock));
      const outage = (): Promise<() => Promise<void>> => (subject as ReferenceLog).outage();
      return { subject, clock, outage, reopen: async () => subject };
    }),
};
