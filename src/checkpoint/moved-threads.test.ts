import { describe, expect, test } from "vitest";
import { LOCAL_BACKENDS } from "../../test/local-backends.ts";
import { saverOf } from "../saver/checkpoint-saver.ts";
import { AgentState } from "../state/agent-state.ts";
import { userMessage } from "../state/message.ts";
import type { Checkpointer } from "./checkpointer.ts";
import { type CheckpointContext, contextOf } from "./context.ts";
import { markMoved } from "./moved-threads.ts";
import type { ThreadTail } from "./thread-log.ts";

const context = (checkpointer: Checkpointer): CheckpointContext => contextOf(checkpointer) as CheckpointContext;

const tailOf = async (checkpointer: Checkpointer): Promise<ThreadTail> =>
  (await context(checkpointer).log.tail("t")) as ThreadTail;

describe.each(LOCAL_BACKENDS)("on $name", ({ create }) => {
  test("17.4: a thread that was moved takes no save and no lease any more, whoever tries, and says where it is", async () => {
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
});

test("17.4: a graph's thread is not marked as moved", async () => {
  const storage = await LOCAL_BACKENDS[0]?.create();
  const checkpointer = storage?.open() as Checkpointer;
  await saverOf(checkpointer).put({ threadId: "t", checkpointId: "g1", checkpointData: {}, metadata: {} });
  const mark = markMoved(context(checkpointer), "t", await tailOf(checkpointer), "elsewhere");
  await expect(mark).rejects.toMatchObject({ code: "UNSUPPORTED" });
});
