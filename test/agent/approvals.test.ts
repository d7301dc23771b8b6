import { describe, expect, test } from "vitest";
import type { RunResult } from "../../src/agent/events.ts";
import { type Tool, tool } from "../../src/agent/tool-call/tool.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

const AMOUNT = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] } as const;
const pays = (amount: number): ScriptStep => ({ toolCalls: [{ name: "pay", arguments: { amount }, id: "pay-1" }] });

const payTool = (paid: number[], needsApproval: boolean | ((input: unknown) => boolean) = true): Tool =>
  tool({
    name: "pay",
    inputSchema: AMOUNT,
    needsApproval,
    execute: (input) => {
      paid.push((input as { amount: number }).amount);
      return "paid";
    },
  });

interface Answered {
  readonly paid: readonly number[];
  readonly store: MemoryStore;
  readonly result: RunResult;
}

/** Asks for 100, and a fresh agent brings the answer. */
async function answered(response: unknown): Promise<Answered> {
  const store = new MemoryStore();
  const paid: number[] = [];
  const tools = [payTool(paid)];
  const asks = agentOf({ model: scriptedModel([pays(100)]), checkpointer: store.open(), tools });
  await asks.run("pay", { threadId: "t" });
  const second = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools });
  const result = await second.answer({ threadId: "t", id: "pay-1/approval", response });
  return { paid, store, result };
}

test("a tool that needs approval does not run before it was approved", async () => {
  const store = new MemoryStore();
  const paid: number[] = [];
  const agent = agentOf({ model: scriptedModel([pays(100)]), checkpointer: store.open(), tools: [payTool(paid)] });
  const result = await agent.run("pay", { threadId: "t" });
  expect(result).toMatchObject({
    stopReason: "pending",
    pending: [{ id: "pay-1/approval", kind: "approval", question: 'May pay be called with {"amount":100}?' }],
  });
  expect(paid).toEqual([]);
  expect(await store.statuses()).toEqual(["waiting"]);
});

test("approved: it runs once with the arguments that were shown", async () => {
  const { paid, store, result } = await answered({ decision: "approve" });
  expect(paid).toEqual([100]);
  expect(result.stopReason).toBe("complete");
  expect(await store.statuses()).toEqual(["succeeded"]);
});

test("denied: it does not run, and the model is told why", async () => {
  const { paid, store } = await answered({ decision: "deny", reason: "too much" });
  expect(paid).toEqual([]);
  expect(await store.statuses()).toEqual(["denied"]);
  expect((await store.state()).messages[2]).toMatchObject({
    role: "tool",
    isError: true,
    content: "A person refused this call. The reason: too much",
  });
});

test("edited: it runs with the arguments of the person", async () => {
  const { paid, store } = await answered({ decision: "edit", arguments: { amount: 1 } });
  expect(paid).toEqual([1]);
  expect(await store.statuses()).toEqual(["succeeded"]);
});

test("edited to a value that JSON does not have: the outcome is not lost over telling the model of it", async () => {
  const store = new MemoryStore();
  const given: unknown[] = [];
  const pay = tool({
    name: "pay",
    inputSchema: { type: "object" },
    effect: "idempotent",
    needsApproval: true,
    execute: (input) => given.push(input),
  });
  const asks = agentOf({ model: scriptedModel([pays(100)]), checkpointer: store.open(), tools: [pay] });
  await asks.run("pay", { threadId: "t" });
  const second = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [pay] });
  const response = { decision: "edit", arguments: { amount: 1n } };
  await second.answer({ threadId: "t", id: "pay-1/approval", response });
  expect({ given, statuses: await store.statuses() }).toEqual({ given: [{ amount: 1n }], statuses: ["succeeded"] });
});

test("edited to something that does not fit: refused when it is answered, and it still waits", async () => {
  const store = new MemoryStore();
  const paid: number[] = [];
  const agent = agentOf({ model: scriptedModel([pays(100)]), checkpointer: store.open(), tools: [payTool(paid)] });
  await agent.run("pay", { threadId: "t" });
  const response = { decision: "edit", arguments: { amount: "lots" } };
  const resumed = (): unknown => agent.answer({ threadId: "t", id: "pay-1/approval", response });
  const failure = await failureOf(resumed);
  expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(failure.message).toMatch(/the arguments do not fit pay: .*amount.*It still waits/);
  expect({ paid, statuses: await store.statuses() }).toEqual({ paid: [], statuses: ["waiting"] });
});

test.each(["yes", true, null, undefined, {}, { decision: "maybe" }, { decision: "edit" }])(
  "%j is no answer to a request for approval: refused, and it still waits",
  async (response) => {
    const store = new MemoryStore();
    const paid: number[] = [];
    const agent = agentOf({ model: scriptedModel([pays(100)]), checkpointer: store.open(), tools: [payTool(paid)] });
    await agent.run("pay", { threadId: "t" });
    const resumed = (): unknown => agent.answer({ threadId: "t", id: "pay-1/approval", response });
    expect((await failureOf(resumed)).code).toBe("INVALID_ARGUMENT");
    expect(await store.statuses()).toEqual(["waiting"]);
    expect(paid).toEqual([]);
  },
);

test("approval may depend on the arguments", async () => {
  const paid: number[] = [];
  const large = payTool(paid, (input) => (input as { amount: number }).amount > 10);
  const checkpointer = new MemoryStore().open();
  const small = agentOf({ model: scriptedModel([pays(5), "ready"]), tools: [large], checkpointer });
  expect((await small.run("pay", { threadId: "small" })).stopReason).toBe("complete");
  const big = agentOf({ model: scriptedModel([pays(50)]), tools: [large], checkpointer });
  expect((await big.run("pay", { threadId: "big" })).stopReason).toBe("pending");
  expect(paid).toEqual([5]);
});

test("arguments that do not fit are refused before a person is bothered", async () => {
  const tools = [payTool([])];
  const bad: ScriptStep = { toolCalls: [{ name: "pay", arguments: { amount: "x" } }] };
  const agent = agentOf({ model: scriptedModel([bad, "ready"]), tools, checkpointer: new MemoryStore().open() });
  const result = await agent.run("pay", { threadId: "t" });
  expect(result).toMatchObject({ stopReason: "complete", pending: [] });
});

test("a rule for approval that throws is a failed call, not a thread that can never go on", async () => {
  const store = new MemoryStore();
  const paid: number[] = [];
  const broken = payTool(paid, () => {
    throw new Error("the rule has a bug");
  });
  const agent = agentOf({ model: scriptedModel([pays(1), "ready"]), checkpointer: store.open(), tools: [broken] });
  expect((await agent.run("pay", { threadId: "t" })).stopReason).toBe("complete");
  expect(paid).toEqual([]);
  expect(await store.statuses()).toEqual(["failed"]);
});

describe("an approved tool that is cut off", () => {
  test("is not approved a second time: whether it acted is unknown", async () => {
    const store = new MemoryStore();
    const paid: number[] = [];
    let began: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      began = resolve;
    });
    const hangs = tool({
      name: "pay",
      inputSchema: AMOUNT,
      needsApproval: true,
      execute: () => {
        began();
        return new Promise(() => undefined);
      },
    });
    await agentOf({ model: scriptedModel([pays(100)]), checkpointer: store.open(), tools: [hangs] }).run("pay", {
      threadId: "t",
    });
    void agentOf({ model: scriptedModel([]), checkpointer: store.open(), tools: [hangs] })
      .answer({
        threadId: "t",
        id: "pay-1/approval",
        response: { decision: "approve" },
      })
      .catch(() => undefined);
    await begun;
    store.killAll();
    const third = agentOf({ model: scriptedModel(["?"]), checkpointer: store.open(), tools: [payTool(paid)] });
    await third.run(undefined, { threadId: "t" });
    expect(paid).toEqual([]);
    expect(await store.statuses()).toEqual(["unknown"]);
  });
});
