import { describe, expect, test } from "vitest";
import { argumentsHash } from "../../src/agent/tool-call/ledger.ts";
import { type ToolContext, tool } from "../../src/agent/tool-call/tool.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

const NUMBERED = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
const calls = (...numbers: number[]): { toolCalls: { name: string; arguments: { n: number }; id: string }[] } => ({
  toolCalls: numbers.map((n) => ({ name: "work", arguments: { n }, id: `call-${n}` })),
});

test("a call is intended, then begun, then settled, and each is in storage before the next", async () => {
  const store = new MemoryStore();
  const seen: string[] = [];
  const note = async (): Promise<void> => {
    seen.push(...(await store.statuses()));
  };
  const work = tool({ name: "work", execute: note });
  const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
  const agent = agentOf({
    model,
    checkpointer: store.open(),
    tools: [work],
    hooks: { afterModel: ({ message }) => (message.toolCalls === undefined ? undefined : note()), afterTool: note },
  });
  await agent.run("go", { threadId: "t" });
  expect(seen).toEqual(["intended", "started", "succeeded"]);
});

test("a settled call says when, how often and under which key it ran", async () => {
  const store = new MemoryStore();
  let context: ToolContext | undefined;
  const work = tool({
    name: "work",
    execute: (_input, given) => {
      context = given;
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "work", id: "c1" }] }, "ready"]);
  let clock = 1000;
  const agent = agentOf({ model, checkpointer: store.open(), tools: [work], now: () => clock++ });
  await agent.run("go", { threadId: "t" });
  const [execution] = (await store.state()).toolExecutions;
  expect(execution).toMatchObject({ toolCallId: "c1", toolName: "work", status: "succeeded", attempts: 1 });
  expect(execution?.idempotencyKey).toBe(context?.idempotencyKey);
  expect(execution?.startedAt).toBeLessThan(execution?.settledAt ?? 0);
});

test("calls of one message each have a key of their own", async () => {
  const keys = new Set<string>();
  const work = tool({ name: "work", inputSchema: NUMBERED, execute: (_, context) => keys.add(context.idempotencyKey) });
  await agentOf({ model: scriptedModel([calls(1, 2, 3), "ready"]), tools: [work] }).run("go");
  expect(keys.size).toBe(3);
});

test("a result is in storage while the call beside it still runs", async () => {
  const store = new MemoryStore();
  const [slow, settled] = [gate(), gate()];
  const work = tool({
    name: "work",
    inputSchema: NUMBERED,
    execute: async (input) => {
      if ((input as { n: number }).n === 2) await slow.opened;
      return `result ${(input as { n: number }).n}`;
    },
  });
  const agent = agentOf({
    model: scriptedModel([calls(1, 2), "ready"]),
    checkpointer: store.open(),
    tools: [work],
    hooks: { afterTool: () => settled.open() },
  });
  const run = agent.run("go", { threadId: "t" });
  await settled.opened;
  expect(await store.lines()).toEqual(["user: go", "assistant: (calls work, work)", "tool: result 1"]);
  expect(await store.statuses()).toEqual(["succeeded", "started"]);
  slow.open();
  await run;
  expect(await store.statuses()).toEqual(["succeeded", "succeeded"]);
});

test("no more calls run at once than allowed", async () => {
  let [running, most] = [0, 0];
  const work = tool({
    name: "work",
    inputSchema: NUMBERED,
    execute: async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    },
  });
  const model = scriptedModel([calls(1, 2, 3, 4, 5), "ready"]);
  await agentOf({ model, tools: [work], toolConcurrency: 2 }).run("go");
  expect(most).toBe(2);
});

test.each([0, -1, Number.NaN])("a concurrency of %s is refused when the agent is made", (toolConcurrency) => {
  expect(() => agentOf({ model: scriptedModel([]), toolConcurrency })).toThrow(/toolConcurrency/);
});

test("results stand in the conversation right behind the calls, whichever settles first", async () => {
  const first = gate();
  const work = tool({
    name: "work",
    inputSchema: NUMBERED,
    execute: async (input) => {
      const { n } = input as { n: number };
      if (n === 1) await first.opened;
      else first.open();
      return `result ${n}`;
    },
  });
  const model = scriptedModel([calls(1, 2), "ready"]);
  await agentOf({ model, tools: [work] }).run("go");
  const shown = model.requests[1]?.messages.map((message) => (message.role === "tool" ? message.toolCallId : ""));
  expect(shown).toEqual(["", "", "call-1", "call-2"]);
});

test("a call id that a provider uses again in a later turn is told apart", async () => {
  const store = new MemoryStore();
  const work = tool({ name: "work", inputSchema: NUMBERED, execute: (input) => `did ${(input as { n: number }).n}` });
  const again = (n: number): { toolCalls: { name: string; arguments: unknown; id: string }[] } => ({
    toolCalls: [{ name: "work", arguments: { n }, id: "call_0" }],
  });
  const model = scriptedModel([again(1), again(2), "ready"]);
  const agent = agentOf({ model, checkpointer: store.open(), tools: [work] });
  await agent.run("go", { threadId: "t" });
  expect((await store.lines()).filter((line) => line.startsWith("tool"))).toEqual(["tool: did 1", "tool: did 2"]);
  expect(new Set((await store.state()).toolExecutions.map(({ toolCallId }) => toolCallId)).size).toBe(2);
});

test("each call is announced when it begins and when it ends", async () => {
  const work = tool({ name: "work", inputSchema: NUMBERED, execute: () => "done" });
  const events = await eventsOf(agentOf({ model: scriptedModel([calls(7), "ready"]), tools: [work] }).run("go"));
  expect(ofType(events, "tool-start")).toMatchObject([{ toolCallId: "call-7", arguments: { n: 7 }, attempt: 1 }]);
  expect(ofType(events, "tool-end")).toMatchObject([{ toolCallId: "call-7", toolName: "work", status: "succeeded" }]);
});

describe("the hash of a call's arguments", () => {
  const call = (name: string, input: unknown): { id: string; name: string; arguments: unknown } => ({
    id: "c",
    name,
    arguments: input,
  });

  test("does not depend on the order of keys", () => {
    expect(argumentsHash(call("a", { x: 1, y: { p: 1, q: 2 } }))).toBe(
      argumentsHash(call("a", { y: { q: 2, p: 1 }, x: 1 })),
    );
  });

  test("tells names and values apart", () => {
    const hashes = [call("a", { x: 1 }), call("b", { x: 1 }), call("a", { x: "1" }), call("a", { x: [1] })];
    expect(new Set(hashes.map(argumentsHash)).size).toBe(4);
  });
});
