import { expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, toolMessage, userMessage } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";

/** A thread in which every call was named alike by its provider, and made unique here. */
function threadOf(calls: number): AgentState {
  const ids = Array.from({ length: calls }, (_, index) => (index === 0 ? "call_1" : `call_1_${index + 1}`));
  return AgentState.create({
    messages: ids.flatMap((id) => [
      userMessage("go"),
      assistantMessage("", { toolCalls: [{ id, name: "look", arguments: {} }] }),
      toolMessage("seen", { toolCallId: id, toolName: "look" }),
    ]),
    toolExecutions: ids.map((toolCallId) => ({ toolCallId, toolName: "look", status: "succeeded" })),
  });
}

/** How often the ledger is looked at from the outside while one more call of that name is made. */
async function readsOf(calls: number): Promise<{ reads: number; ids: readonly string[] }> {
  let reads = 0;
  const checkpointer = new MemoryCheckpointer();
  await checkpointer.save(threadOf(calls), "t");
  const model = scriptedModel([{ toolCalls: [{ name: "look", id: "call_1" }] }, "ready"]);
  const look = tool({ name: "look", effect: "pure", execute: () => "seen" });
  const get = Map.prototype.get;
  Map.prototype.get = function counted(key: unknown) {
    if (typeof key === "string" && key.startsWith("call_1")) reads++;
    return get.call(this, key);
  };
  try {
    const { state } = await agentOf({ model, checkpointer, tools: [look] }).run("go", { threadId: "t" });
    return { reads, ids: state.toolExecutions.map(({ toolCallId }) => toolCallId) };
  } finally {
    Map.prototype.get = get;
  }
}

test("a call whose id was used before gets one of its own, at a cost that does not grow with the thread", async () => {
  const [short, long] = [await readsOf(200), await readsOf(2_000)];
  expect(new Set(long.ids).size).toBe(2_001);
  expect(short.reads).toBeGreaterThan(0);
  expect(long.reads).toBeLessThanOrEqual(short.reads + 5);
});
