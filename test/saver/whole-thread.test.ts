import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../../src/checkpoint/context.ts";
import type { LogChain } from "../../src/checkpoint/log/thread-log.ts";
import { Thread } from "../../src/checkpoint/thread/thread.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { everyRecord } from "../../src/saver/history/whole-thread.ts";

/**
 * Every page is of another life of the thread, as if it were deleted and made again between any two.
 */
class RestlessLog extends MemoryLog {
  #lives = 0;

  override async readRecords(...given: Parameters<MemoryLog["readRecords"]>): Promise<LogChain | undefined> {
    const [threadId, { before }] = given;
    const chain = await super.readRecords(threadId, before === undefined ? given[1] : { limit: 1 });
    return chain && { ...chain, generation: `life ${++this.#lives}` };
  }
}

test("a thread that is made anew again and again while it is read ends in CONFLICT, and not never", async () => {
  const checkpointer = new Checkpointer(new RestlessLog());
  await saverOf(checkpointer).put({ threadId: "t", checkpointId: "1", checkpointData: { n: 1 } });
  const reading = everyRecord(new Thread(contextOf(checkpointer) as CheckpointContext, "t", "prune"));
  await expect(reading).rejects.toMatchObject({ code: "CONFLICT", context: { threadId: "t" } });
});
