import { expect, test } from "vitest";
import { type Tool, tool } from "../../src/agent/tool-call/tool.ts";
import { type ScriptedAnswer, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

const call = (...inputs: unknown[]): ScriptedAnswer => ({
  toolCalls: inputs.map((input) => ({ name: "pay", arguments: input })),
});

function payTool(paid: unknown[], options: { readonly fails?: number; readonly needsApproval?: boolean } = {}): Tool {
  let left = options.fails ?? 0;
  return tool({
    name: "pay",
    reuseResult: true,
    inputSchema: { type: "object" },
    needsApproval: options.needsApproval ?? false,
    execute: (input) => {
      if (left-- > 0) throw new Error("try again");
      paid.push(input);
      return `receipt ${paid.length}`;
    },
  });
}

test("a tool marked idempotent gives the first result to a second call with the same arguments", async () => {
  const store = new MemoryStore();
  const paid: unknown[] = [];
  const model = scriptedModel([call({ to: "a", amount: 1 }), call({ amount: 1, to: "a" }), "ready"]);
  await agentOf({ model, checkpointer: store.open(), tools: [payTool(paid)] }).run("go", { threadId: "t" });
  expect(paid).toHaveLength(1);
  expect((await store.lines()).filter((line) => line.startsWith("tool"))).toEqual([
    "tool: receipt 1",
    "tool: receipt 1",
  ]);
});

test("also in a later run, by another process", async () => {
  const store = new MemoryStore();
  const paid: unknown[] = [];
  for (const model of [scriptedModel([call({ to: "a" }), "paid"]), scriptedModel([call({ to: "a" }), "again"])]) {
    await agentOf({ model, checkpointer: store.open(), tools: [payTool(paid)] }).run("pay", { threadId: "t" });
  }
  expect(paid).toHaveLength(1);
});

test("also when both calls are in one message", async () => {
  const paid: unknown[] = [];
  const model = scriptedModel([call({ to: "a" }, { to: "a" }), "ready"]);
  await agentOf({ model, tools: [payTool(paid)] }).run("go");
  expect(paid).toHaveLength(1);
});

test("other arguments are another call", async () => {
  const paid: unknown[] = [];
  const model = scriptedModel([call({ to: "a" }), call({ to: "b" }), "ready"]);
  await agentOf({ model, tools: [payTool(paid)] }).run("go");
  expect(paid).toEqual([{ to: "a" }, { to: "b" }]);
});

test("a call that failed is not remembered: it may be tried again", async () => {
  const paid: unknown[] = [];
  const model = scriptedModel([call({ to: "a" }), call({ to: "a" }), "ready"]);
  await agentOf({ model, tools: [payTool(paid, { fails: 1 })] }).run("go");
  expect(paid).toEqual([{ to: "a" }]);
});

test("without the mark, the same call twice runs twice", async () => {
  let ran = 0;
  const work = tool({ name: "pay", inputSchema: { type: "object" }, effect: "idempotent", execute: () => ++ran });
  await agentOf({ model: scriptedModel([call({}), call({}), "ready"]), tools: [work] }).run("go");
  expect(ran).toBe(2);
});

test("arguments that a person edited count as what they were edited to", async () => {
  const store = new MemoryStore();
  const paid: unknown[] = [];
  const tools = [payTool(paid, { needsApproval: true })];
  const asks = agentOf({ model: scriptedModel([call({ amount: 100 })]), checkpointer: store.open(), tools });
  const { pending } = await asks.run("pay", { threadId: "t" });
  const answer = { decision: "edit", arguments: { amount: 1 } };
  const edited = agentOf({ model: scriptedModel(["paid"]), checkpointer: store.open(), tools });
  await edited.answer({ threadId: "t", id: pending[0]!.id, response: answer });

  const again = agentOf({ model: scriptedModel([call({ amount: 100 })]), checkpointer: store.open(), tools });
  expect((await again.run("pay the rest", { threadId: "t" })).stopReason).toBe("pending");
  const same = agentOf({ model: scriptedModel(["paid already"]), checkpointer: store.open(), tools });
  const waiting = (await store.state()).interrupts.find((interrupt) => interrupt.answer === undefined);
  await same.answer({ threadId: "t", id: waiting!.id, response: answer });
  expect(paid).toEqual([{ amount: 1 }]);
});
