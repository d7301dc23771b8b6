import { afterAll, test } from "vitest";
import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { FaultyLog } from "../../testing/faulty-log.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testCheckpointer } from "../../testing/test-checkpointer.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { MemoryLog } from "./log.ts";

testThreadLog({
  name: "memory",
  test,
  afterAll,
  create: async () => {
    const clock = manualClock();
    const log = new MemoryLog(clock);
    return { subject: log, clock, reopen: async () => log };
  },
});

testCheckpointer({
  name: "memory",
  test,
  afterAll,
  create: async () => {
    const clock = manualClock();
    let down = false;
    const faultAt = () => (down ? ({ when: "before", code: "PERMISSION_DENIED" } as const) : undefined);
    const log = new FaultyLog(new MemoryLog(clock), { faultAt });
    const outage = async () => {
      down = true;
      return async () => {
        down = false;
      };
    };
    return {
      subject: new Checkpointer(log, clock),
      clock,
      outage,
      reopen: async () => new Checkpointer(log, clock),
    };
  },
});
