import { expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

test("an at-most-once call at its intended checkpoint is run by its own thread and not by a fork or a copy", async () => {
  const store = new MemoryStore();
  const keys: string[] = [];
  const pay = tool({
    name: "pay",
    execute: (_, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      return "paid";
    },
  });
  // The hook stops the run where a crash would: the call is intended and not begun.
  const stopped = agentOf({
    model: scriptedModel([{ toolCalls: [{ name: "pay" }] }]),
    checkpointer: store.open(),
    tools: [pay],
    hooks: {
      beforeTool: () => {
        throw new Error("killed");
      },
    },
  });
  await expect(stopped.run("pay", { threadId: "t" })).rejects.toThrow("killed");
  expect(await store.statuses()).toEqual(["intended"]);

  const open = () => agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [pay] });
  const checkpointer = await open().checkpointer;
  await checkpointer?.fork("t", "forked");
  await checkpointer?.copyThread("t", "copied");
  for (const threadId of ["forked", "copied"]) {
    const model = scriptedModel(["so it was not paid here"]);
    const agent = agentOf({ model, checkpointer: store.open(), tools: [pay] });
    expect((await agent.run(undefined, { threadId })).stopReason).toBe("complete");
    expect(model.requests[0]?.messages.at(-1)).toMatchObject({ role: "tool", isError: true });
  }
  expect(keys).toEqual([]);
  await open().run(undefined, { threadId: "t" });
  expect(keys).toHaveLength(1);
});

test("an agent's checkpointer is there, opened or not; one that saves nothing has none", async () => {
  const store = new MemoryStore();
  const checkpointer = store.open();
  expect(await agentOf({ model: scriptedModel([]), checkpointer }).checkpointer).toBe(checkpointer);
  expect(agentOf({ model: scriptedModel([]) }).checkpointer).toBeUndefined();
});
