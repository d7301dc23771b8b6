import { expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

test("the user's message is in storage before anything of the run is seen, and is saved while the model is asked", async () => {
  const store = new MemoryStore();
  const model = scriptedModel([
    async () => {
      await store.holds(1);
      return "hi";
    },
  ]);
  const seen: (readonly string[])[] = [];
  for await (const _ of agentOf({ model, checkpointer: store.open() }).run("hello", { threadId: "t" })) {
    seen.push(await store.lines());
  }
  expect(seen.length).toBeGreaterThan(4);
  for (const lines of seen) expect(lines[0]).toBe("user: hello");
});

test("the answer is in storage before anything that comes after the run sees it", async () => {
  const store = new MemoryStore();
  let seen: readonly string[] = [];
  const afterRun = async (): Promise<void> => {
    seen = await store.lines();
  };
  const agent = agentOf({ model: scriptedModel(["hi"]), checkpointer: store.open(), hooks: { afterRun } });
  const { checkpointId } = await agent.run("hello", { threadId: "t" });
  expect(seen).toEqual(["user: hello", "assistant: hi"]);
  expect((await store.checkpointIds())[0]).toBe(checkpointId);
});

test("each save is reported with the id that the history has for it", async () => {
  const store = new MemoryStore();
  const work = tool({ name: "work", execute: () => "done" });
  const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
  const agent = agentOf({ model, checkpointer: store.open(), tools: [work] });
  const saved = ofType(await eventsOf(agent.run("go", { threadId: "t" })), "checkpoint-saved");
  expect(saved.map(({ checkpointId }) => checkpointId).reverse()).toEqual(await store.checkpointIds());
});

test("the model's calls are in storage before any of them runs", async () => {
  const store = new MemoryStore();
  let seen: readonly string[] = [];
  const work = tool({
    name: "work",
    execute: async () => {
      seen = await store.lines();
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
  await agentOf({ model, checkpointer: store.open(), tools: [work] }).run("go", { threadId: "t" });
  expect(seen).toEqual(["user: go", "assistant: (calls work)"]);
});

test("the state that a run returns is the state that is stored", async () => {
  const store = new MemoryStore();
  const work = tool({ name: "work", execute: () => "done" });
  const model = scriptedModel([{ text: "I will", toolCalls: [{ name: "work", arguments: {} }] }, "ready"]);
  const agent = agentOf({ model, checkpointer: store.open(), tools: [work] });
  const { state } = await agent.run("go", { threadId: "t", metadata: { user: 7 } });
  expect((await store.state()).toCheckpoint()).toEqual(state.toCheckpoint());
});

test("the thread's totals grow over runs while a run counts its own", async () => {
  const store = new MemoryStore();
  const usage = { inputTokens: 10, outputTokens: 2 };
  const model = scriptedModel([
    { text: "one", usage },
    { text: "two", usage },
  ]);
  const agent = agentOf({ model, checkpointer: store.open() });
  await agent.run("first", { threadId: "t" });
  const second = await agent.run("second", { threadId: "t" });
  expect(second.usage).toMatchObject(usage);
  expect(second.iterations).toBe(1);
  expect((await store.state()).totals).toMatchObject({ runs: 2, iterations: 2, inputTokens: 20, outputTokens: 4 });
});
