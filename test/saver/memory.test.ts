import { afterAll, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { CheckpointSaver } from "../../src/saver/checkpoint-saver.ts";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { testSaver } from "../../src/testing/test-saver.ts";

/** Without slack every put that may begins a new epoch: the two cannot be told apart from outside. */
for (const [name, slackBytes] of [
  ["memory", undefined],
  ["memory, a new base whenever it may be", 0],
] as const) {
  testSaver({
    name,
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const log = new MemoryLog(clock);
      const open = () => new CheckpointSaver({ log, now: clock.now, ...(slackBytes !== undefined && { slackBytes }) });
      return { subject: open(), clock, reopen: async () => open() };
    },
  });
}
