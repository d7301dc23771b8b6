import { expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import type { KnownPlace, LogChain } from "../../checkpoint/log/thread-log.ts";
import { CheckpointSaver } from "../checkpoint-saver.ts";

/** A storage that is written in one place and read in another, where a part of the history is missing. */
class LaggingLog extends MemoryLog {
  #old: { readonly chain: LogChain | undefined } | undefined;

  async lag(): Promise<void> {
    this.#old = { chain: await super.readTail("t") };
  }

  override async readTail(threadId: string, options?: { newerThan?: KnownPlace }): Promise<LogChain | undefined> {
    return this.#old === undefined ? super.readTail(threadId, options) : this.#old.chain;
  }
}

async function written(saver: CheckpointSaver, ...ids: readonly string[]): Promise<void> {
  for (const checkpointId of ids)
    await saver.put({ threadId: "t", checkpointId, checkpointData: { id: checkpointId } });
}

test.each([
  ["which was there", ["c1"], ["c2"], "answers with record 1 as the newest of the thread"],
  ["which is all there is", [], ["c1", "c2"], "answers that there is no such thread"],
])(
  "a storage that refuses what follows the record that it gives for the newest, %s, is no busy writer",
  async (_, before, after, what) => {
    const log = new LaggingLog();
    await written(new CheckpointSaver({ log }), ...before);
    const stale = new CheckpointSaver({ log });
    await stale.get({ threadId: "t" });
    await log.lag();
    await written(new CheckpointSaver({ log }), ...after).catch(() => undefined);
    const failure = await failureOf(() => written(stale, "d9"));
    expect(failure).toMatchObject({ code: "CONFLICT", context: { threadId: "t", written: "no" } });
    expect(failure.message).toContain(what);
    expect(failure.message).not.toContain("other writers");
  },
);

test("a thread that a storage does not have any more was deleted, or the storage went back to before it", async () => {
  const log = new MemoryLog();
  const saver = new CheckpointSaver({ log });
  await written(saver, "c1");
  await log.remove("t");
  const { message } = await failureOf(() => written(saver, "c2"));
  expect(message).toContain("it was deleted, or the storage was put back to a time before it");
});

test("a write is put even after another saver removed the checkpoint that this one had cached", async () => {
  const log = new MemoryLog();
  const [saver, other] = [new CheckpointSaver({ log }), new CheckpointSaver({ log })];
  const put = { threadId: "t", checkpointId: "c2", checkpointData: {}, metadata: { run_id: "r" } };
  const write = { threadId: "t", checkpointId: "c2", taskId: "a", writes: [["x", "said"]] } as const;
  await written(saver, "c1");
  await saver.put(put);
  await saver.putWrites(write);
  expect(await other.deleteForRuns({ threadId: "t", runIds: ["r"] })).toMatchObject({ checkpoints: 1 });
  await saver.putWrites(write);
  await other.put(put);
  expect((await other.get({ threadId: "t", checkpointId: "c2" }))?.pendingWrites).toHaveLength(1);
});
