import { expect, test } from "vitest";
import { MemoryLog } from "../../backends/memory/log.ts";
import { MOST_RECORDS } from "../../checkpoint/log/driver-rules.ts";
import type { AppendOutcome, AppendRequest } from "../../checkpoint/log/thread-log.ts";
import { CheckpointSaver } from "../checkpoint-saver.ts";

/** Accepts this many appends, and is then gone for good. */
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

test.each([
  ["a checkpoint of a subgraph", { keepLast: 1 }, ["c2"]],
  ["no checkpoint", undefined, []],
])("writes that wait for a checkpoint never stand for the thread: %s stays beside them", async (_, prune, ids) => {
  const log = new MemoryLog();
  const saver = new CheckpointSaver({ log });
  const place = { threadId: "t", checkpointNs: "agent:1" };
  for (const checkpointId of ["c1", "c2"]) {
    await saver.put({ ...place, checkpointId, checkpointData: {}, metadata: { run_id: "r" } });
  }
  await saver.putWrites({ ...place, checkpointId: "c3", taskId: "a", writes: [["x", "waits"]] });
  if (prune === undefined) await saver.deleteForRuns({ threadId: "t", runIds: ["r"] });
  else await saver.prune({ threadId: "t", ...prune });
  const reader = new CheckpointSaver({ log });
  const left = await reader.listCheckpoints({ threadId: "t" });
  expect(left.map(({ checkpointId }) => checkpointId)).toEqual(ids);
  await reader.put({ ...place, checkpointId: "c3", checkpointData: {} });
  expect((await reader.get({ ...place, checkpointId: "c3" }))?.pendingWrites).toHaveLength(1);
});
