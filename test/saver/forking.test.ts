import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { AppendOutcome, AppendRequest } from "../../src/checkpoint/log/thread-log.ts";
import { StateError } from "../../src/errors.ts";
import { type CheckpointSaver, saverOf } from "../../src/saver/checkpoint-saver.ts";
import { failureOf } from "../failure-of.ts";
import { served } from "../http/served.ts";

/** Takes this many appends to "fork", and refuses what comes then. */
class EndingLog extends MemoryLog {
  left = Number.POSITIVE_INFINITY;

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    if (threadId === "fork" && this.left-- <= 0) throw new StateError("PERMISSION_DENIED", "no more of these");
    return super.append(threadId, request);
  }
}

const COUNT = 300;
const id = (index: number): string => `c${String(index).padStart(4, "0")}`;

/** More checkpoints than one append takes. */
async function longThread(saver: CheckpointSaver): Promise<void> {
  const items: string[] = [];
  const puts: Promise<void>[] = [];
  for (let index = 0; index < COUNT; index++) {
    items.push(`item ${index} of a list that is long enough to be shared by all`);
    const parent = index === 0 ? {} : { parentId: id(index - 1) };
    puts.push(saver.put({ threadId: "t", checkpointId: id(index), checkpointData: { items }, ...parent }));
  }
  await Promise.all(puts);
}

test("a fork that breaks off shows nothing, and the next one takes its place", async () => {
  const log = new EndingLog();
  const checkpointer = new Checkpointer(log);
  const saver = saverOf(checkpointer);
  await longThread(saver);
  log.left = 1;
  expect(await failureOf(() => checkpointer.fork("t", "fork"))).toMatchObject({ code: "PERMISSION_DENIED" });
  expect([...(await saver.listThreads())]).toEqual(["t"]);
  expect(await saver.get({ threadId: "fork" })).toBeUndefined();
  log.left = Number.POSITIVE_INFINITY;
  expect(await checkpointer.fork("t", "fork")).toBe(id(COUNT - 1));
  expect(await saver.listCheckpoints({ threadId: "fork" })).toHaveLength(COUNT);
  for (const checkpointId of [id(0), id(150), id(COUNT - 1)]) {
    const [copy, original] = [
      await saver.get({ threadId: "fork", checkpointId }),
      await saver.get({ threadId: "t", checkpointId }),
    ];
    expect(copy?.checkpointData).toEqual(original?.checkpointData);
  }
  expect(await failureOf(() => checkpointer.fork("t", "fork"))).toMatchObject({ code: "CONFLICT" });
});

test("a fork of more than one append goes through the HTTP service as well", async () => {
  await using service = await served();
  const checkpointer = service.client();
  const saver = saverOf(checkpointer);
  await longThread(saver);
  expect(await checkpointer.fork("t", "fork", { at: id(279) })).toBe(id(279));
  expect(await saver.listCheckpoints({ threadId: "fork" })).toHaveLength(280);
  const [copy, original] = [
    await saver.get({ threadId: "fork" }),
    await saver.get({ threadId: "t", checkpointId: id(279) }),
  ];
  expect(copy?.checkpointData).toEqual(original?.checkpointData);
  expect([...(await checkpointer.listThreads())].sort()).toEqual(["fork", "t"]);
  await checkpointer.close();
});
