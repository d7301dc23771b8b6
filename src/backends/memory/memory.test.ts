import { afterAll, test } from "vitest";
import { Checkpointer } from "../../checkpoint/checkpointer.ts";
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
    const log = new MemoryLog(clock);
    return { subject: new Checkpointer(log, clock), clock, reopen: async () => new Checkpointer(log, clock) };
  },
});
