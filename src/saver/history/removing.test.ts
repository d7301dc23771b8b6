import { expect, test } from "vitest";
import { MemoryLog } from "../../backends/memory/log.ts";
import { MOST_RECORDS } from "../../checkpoint/log/driver-rules.ts";
import type { AppendOutcome, AppendRequest } from "../../checkpoint/log/thread-log.ts";
import { CheckpointSaver } from "../checkpoint-saver.ts";

/** Takes so many appends, and is gone for good then. */
class EndingLog extends MemoryLog {
  left = Number.POSITIVE_INFINITY;

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    if (this.left-- <= 0) throw Object.assign(new Error("the process was killed"), { code: "KILLED" });
    return super.append(threadId, request);
  }
}

const idOf = (index: number): string => `c${String(index).padStart(4, "0")}`;

test("a prune that is interrupted between its batches leaves the newest checkpoint the newest, for savers and in lists", async () => {
  const count = MOST_RECORDS + 20;
  const log = new EndingLog();
  const saver = new CheckpointSaver({ log, retry: { attempts: 1 } });
  for (let index = 1; index <= count; index++) {
    const checkpointId = idOf(index);
    await saver.put({ threadId: "t", checkpointId, checkpointData: { step: index }, metadata: { step: index } });
  }
  const newest = async (): Promise<unknown> => {
    const reader = new CheckpointSaver({ log });
    const [listed] = (await reader.listThreads()).map((threadId) => threadId);
    const { items } = await log.listThreads({ prefix: "", limit: 10 });
    const heads = items.map((item) => ("head" in item ? item.head.checkpointId : item));
    return [listed, heads, (await reader.get({ threadId: "t" }))?.checkpointId];
  };
  const before = await newest();
  log.left = 1;
  await expect(saver.prune({ threadId: "t", keepLast: count - 5 })).rejects.toThrow("killed");
  expect(await newest()).toEqual(before);
  log.left = Number.POSITIVE_INFINITY;
  const other = new CheckpointSaver({ log });
  await other.put({ threadId: "t", checkpointId: idOf(count + 1), checkpointData: { step: "next" } });
  expect((await other.get({ threadId: "t" }))?.checkpointId).toBe(idOf(count + 1));
});
