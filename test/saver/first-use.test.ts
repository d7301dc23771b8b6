import { expect, test } from "vitest";
import { MemoryCheckpointer } from "../../src/backends/memory/checkpointer.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { newCheckpointId } from "../../src/saver/saver.ts";

test("the first puts are what they were at the call, in their order, though the saver is closed at once", async () => {
  const checkpointer = new MemoryCheckpointer();
  const saver = saverOf(checkpointer);
  const [first, second] = [newCheckpointId(), newCheckpointId()];
  const checkpointData = { n: 1 };
  const puts = [saver.put({ threadId: "t", checkpointId: first, checkpointData })];
  checkpointData.n = 2;
  puts.push(saver.put({ threadId: "t", checkpointId: second, parentId: first, checkpointData }));
  checkpointData.n = 3;
  const closed = saver.close();
  await expect(saver.get({ threadId: "t" })).rejects.toMatchObject({ code: "CLOSED" });
  await Promise.all([...puts, closed]);
  const other = saverOf(checkpointer);
  expect((await other.get({ threadId: "t", checkpointId: first }))?.checkpointData).toEqual({ n: 1 });
  expect(await other.get({ threadId: "t" })).toMatchObject({ checkpointId: second, checkpointData: { n: 2 } });
  await checkpointer.close();
});
