import { describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { ModelError } from "../../src/models/model-error.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

const work = tool({ name: "work", execute: () => "done" });
const callsWork: ScriptStep = { toolCalls: [{ name: "work" }] };
const overloaded = new ModelError("overloaded", { retryable: true });

function run(store: MemoryStore, steps: readonly ScriptStep[], prompt?: string): ReturnType<CoreRun> {
  return agentOf({ model: scriptedModel(steps), checkpointer: store.open(), tools: [work] }).run(prompt, {
    threadId: "t",
  });
}
type CoreRun = ReturnType<typeof agentOf>["run"];

test("a fresh agent goes on with a conversation that another one began", async () => {
  const store = new MemoryStore();
  await run(store, ["hello Ann"], "I am Ann");
  const model = scriptedModel(["Ann"]);
  await agentOf({ model, checkpointer: store.open() }).run("who am I?", { threadId: "t" });
  expect(model.requests[0]?.messages.map(({ content }) => content)).toEqual(["I am Ann", "hello Ann", "who am I?"]);
});

test("without a prompt, a fresh agent finishes a turn whose model failed", async () => {
  const store = new MemoryStore();
  await failureOf(() => run(store, [callsWork, overloaded], "go"));
  expect(await run(store, ["ready"])).toMatchObject({ text: "ready", stopReason: "complete" });
  expect(await store.lines()).toEqual(["user: go", "assistant: (calls work)", "tool: done", "assistant: ready"]);
});

test("with a new prompt, what the last turn left open is settled first and nothing is lost", async () => {
  const store = new MemoryStore();
  const asked = gate();
  const dies = agentOf({
    model: scriptedModel([callsWork]),
    checkpointer: store.open(),
    tools: [work],
    hooks: {
      afterModel: () => {
        asked.open();
        return new Promise(() => undefined);
      },
    },
  });
  void dies.run("go", { threadId: "t" }).catch(() => undefined);
  await asked.opened;
  store.killAll();
  await run(store, ["both"], "and this");
  expect(await store.lines()).toEqual([
    "user: go",
    "assistant: (calls work)",
    "tool: done",
    "user: and this",
    "assistant: both",
  ]);
});

describe("the same prompt again, because the run failed, is not said twice", () => {
  test("when the model never answered", async () => {
    const store = new MemoryStore();
    await failureOf(() => run(store, [overloaded], "go"));
    await run(store, ["ready"], "go");
    expect(await store.lines()).toEqual(["user: go", "assistant: ready"]);
    expect((await store.state()).totals.runs).toBe(1);
  });

  test("when the model failed after its tools had run", async () => {
    const store = new MemoryStore();
    await failureOf(() => run(store, [callsWork, overloaded], "go"));
    await run(store, ["ready"], "go");
    expect(await store.lines()).toEqual(["user: go", "assistant: (calls work)", "tool: done", "assistant: ready"]);
  });

  test("when the answer was cut off", async () => {
    const store = new MemoryStore();
    await run(store, [{ text: "rea", incomplete: true }], "go");
    await run(store, ["ready"], "go");
    expect((await store.lines()).filter((line) => line.startsWith("user"))).toEqual(["user: go"]);
  });
});

test("the same prompt again, after an answer, is a new turn", async () => {
  const store = new MemoryStore();
  await run(store, ["four"], "roll");
  await run(store, ["six"], "roll");
  expect(await store.lines()).toEqual(["user: roll", "assistant: four", "user: roll", "assistant: six"]);
});

test("the same prompt again, after a terminal tool ended the turn, is a new turn", async () => {
  const store = new MemoryStore();
  const submit = tool({ name: "submit", terminal: true, execute: () => "submitted" });
  const step: ScriptStep = { toolCalls: [{ name: "submit" }] };
  for (const model of [scriptedModel([step]), scriptedModel([step])]) {
    await agentOf({ model, checkpointer: store.open(), tools: [submit] }).run("submit it", { threadId: "t" });
  }
  expect((await store.lines()).filter((line) => line.startsWith("user"))).toHaveLength(2);
});

test("other words after a failure are kept beside the first ones", async () => {
  const store = new MemoryStore();
  await failureOf(() => run(store, [overloaded], "go"));
  await run(store, ["ready"], "go on");
  expect(await store.lines()).toEqual(["user: go", "user: go on", "assistant: ready"]);
});

test("a finished thread without a prompt: the answer again, no model call, nothing written", async () => {
  const store = new MemoryStore();
  await run(store, ["ready"], "go");
  const before = await store.checkpointIds();
  expect(await run(store, [])).toMatchObject({ text: "ready", stopReason: "complete", iterations: 0 });
  expect(await store.checkpointIds()).toEqual(before);
});

test("a thread that is not there, without a prompt, is refused and not made", async () => {
  const store = new MemoryStore();
  const model = scriptedModel(["to whom?"]);
  const agent = agentOf({ model, checkpointer: store.open() });
  expect((await failureOf(() => agent.run(undefined, { threadId: "t" }))).code).toMatch(/NOT_FOUND|INVALID_ARGUMENT/);
  expect(model.requests).toHaveLength(0);
  expect(await store.open().exists("t")).toBe(false);
});

test("a failure tells the words of this turn, not those of an earlier one", async () => {
  const store = new MemoryStore();
  await run(store, ["the old answer"], "one");
  expect(await failureOf(() => run(store, [overloaded], "two"))).toMatchObject({ text: "" });
});

test("a run that ended before the model spoke does not give an earlier answer as its own", async () => {
  const store = new MemoryStore();
  await run(store, ["the old answer"], "one");
  const signal = AbortSignal.abort();
  const agent = agentOf({ model: scriptedModel([]), checkpointer: store.open() });
  expect(await agent.run("two", { threadId: "t", signal })).toMatchObject({ text: "", stopReason: "cancelled" });
});

test("a prompt may be parts, or a whole message", async () => {
  const store = new MemoryStore();
  const checkpointer = store.open();
  const agent = agentOf({ model: scriptedModel(["a", "b"]), checkpointer });
  await agent.run([{ type: "text", text: "look" }], { threadId: "t" });
  await agent.run({ role: "user", content: "again", name: "ann" }, { threadId: "t" });
  expect((await store.state()).messages.filter(({ role }) => role === "user")).toEqual([
    { role: "user", content: [{ type: "text", text: "look" }] },
    { role: "user", content: "again", name: "ann" },
  ]);
});
