import { describe, expect, test } from "vitest";
import { LOCAL_BACKENDS } from "../../../test/local-backends.ts";
import { saverOf } from "../../saver/checkpoint-saver.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import type { Checkpointer } from "../checkpointer.ts";
import { type CheckpointContext, contextOf } from "../context.ts";
import { markMoved } from "../history/branching.ts";
import type { ThreadTail } from "../log/thread-log.ts";

const context = (checkpointer: Checkpointer): CheckpointContext => contextOf(checkpointer) as CheckpointContext;

const tailOf = async (checkpointer: Checkpointer): Promise<ThreadTail> =>
  (await context(checkpointer).log.tail("t")) as ThreadTail;

describe.each(LOCAL_BACKENDS)("on $name", ({ create }) => {
  test("a thread that was moved takes no save and no lease from any process, and says where it is", async () => {
    const storage = await create();
    const [writer, other] = [storage.open(), storage.open()];
    const state = AgentState.create().withMessage(userMessage("hello"));
    await writer.save(state, "t", "c1");
    const loaded = await other.load("t");
    const tail = await tailOf(writer);
    expect(await markMoved(context(writer), "t", tail, "sqlite:new.db")).toBe(true);
    expect(await markMoved(context(writer), "t", tail, "sqlite:other.db"), "from another tail").toBe(false);
    const moved = { code: "CONFLICT", message: expect.stringContaining("was moved to sqlite:new.db") };
    const more = (loaded ?? state).withMessage(userMessage("more"));
    await expect(other.save(more, "t")).rejects.toMatchObject(moved);
    await expect(writer.save(state.withMessage(userMessage("more")), "t")).rejects.toMatchObject(moved);
    await expect(other.save(state, "t", { expectedHead: "c1" })).rejects.toMatchObject(moved);
    await expect(other.withLease("t", async () => undefined)).rejects.toMatchObject(moved);
    expect((await other.load("t"))?.messages).toHaveLength(1);
    expect(await other.listCheckpoints("t")).toHaveLength(1);
    expect((await other.verify("t"))?.faults).toEqual([]);
    expect(await other.delete("t", { expectedHead: "c1" })).toBe(true);
    await other.save(AgentState.create(), "t");
    await storage.dispose();
  });

  test("a graph's thread that was moved takes no checkpoint and no writes any more, from savers that know it too, and still reads", async () => {
    const storage = await create();
    const [writer, other] = [storage.open(), storage.open()];
    const [saver, warm, cold] = [saverOf(writer), saverOf(other), saverOf(storage.open())];
    const place = { threadId: "t", checkpointId: "g1" };
    await saver.put({ ...place, checkpointData: { step: 1 }, metadata: {} });
    expect((await warm.get({ threadId: "t" }))?.checkpointData).toEqual({ step: 1 });
    expect(await markMoved(context(writer), "t", await tailOf(writer), "sqlite:new.db")).toBe(true);
    const moved = { code: "CONFLICT", message: expect.stringContaining("was moved to sqlite:new.db") };
    const next = { ...place, checkpointId: "g2", parentId: "g1", checkpointData: { step: 2 }, metadata: {} };
    for (const each of [saver, warm, cold]) {
      await expect(each.put(next)).rejects.toMatchObject(moved);
      const writes = [["step", 2]] as const;
      await expect(each.putWrites({ ...place, taskId: "task", writes })).rejects.toMatchObject(moved);
      const found = await each.get({ threadId: "t" });
      expect([found?.checkpointId, found?.checkpointData, found?.pendingWrites]).toEqual(["g1", { step: 1 }, []]);
    }
    expect((await other.verify("t"))?.faults).toEqual([]);
    expect(await warm.deleteThread("t")).toBe(true);
    await warm.put({ ...place, checkpointData: { step: 1 }, metadata: {} });
    await storage.dispose();
  });

  test("a thread that was moved is forked here, and copied where it is now", async () => {
    const storage = await create();
    const writer = storage.open();
    await writer.save(AgentState.create(), "t", "c1");
    await markMoved(context(writer), "t", await tailOf(writer), "sqlite:new.db");
    await expect(writer.copyThread("t", "copy")).rejects.toThrow("was moved to sqlite:new.db");
    expect(await writer.exists("copy")).toBe(false);
    await writer.fork("t", "fork");
    const fork = (await writer.load("fork")) as AgentState;
    await writer.save(fork.withMessage(userMessage("more")), "fork");
    await storage.dispose();
  });
});
