import { describe, expect, test } from "vitest";
import type { AgentHooks } from "../../src/agent/hooks.ts";
import type { MemoryPort } from "../../src/agent/ports.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { userMessage } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

const script = () => scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
const boom = (): never => {
  throw new Error("boom");
};

test("hooks are called around each step, in order", async () => {
  const order: string[] = [];
  const note = (name: string) => (): void => {
    order.push(name);
  };
  const hooks: AgentHooks = {
    beforeRun: note("beforeRun"),
    beforeIteration: note("beforeIteration"),
    beforeModel: note("beforeModel"),
    afterModel: note("afterModel"),
    beforeTool: note("beforeTool"),
    afterTool: note("afterTool"),
    afterIteration: note("afterIteration"),
    afterRun: note("afterRun"),
  };
  const work = tool({ name: "work", execute: note("tool") });
  await agentOf({ model: script(), tools: [work], hooks }).run("go");
  const iteration = ["beforeIteration", "beforeModel", "afterModel"];
  expect(order).toEqual([
    "beforeRun",
    ...iteration,
    "beforeTool",
    "tool",
    "afterTool",
    "afterIteration",
    ...iteration,
    "afterIteration",
    "afterRun",
  ]);
});

describe("a hook before a step may stop the run there;", () => {
  test.each(["beforeIteration", "beforeModel"] as const)("%s: the prompt is kept, no model is asked", async (name) => {
    const store = new MemoryStore();
    const model = script();
    const agent = agentOf({ model, checkpointer: store.open(), hooks: { [name]: boom } });
    expect((await failureOf(() => agent.run("go", { threadId: "t" }))).message).toBe("boom");
    expect(model.requests).toHaveLength(0);
    expect(await store.lines()).toEqual(["user: go"]);
  });

  test("beforeRun: nothing happened and nothing is stored", async () => {
    const store = new MemoryStore();
    const agent = agentOf({ model: script(), checkpointer: store.open(), hooks: { beforeRun: boom } });
    await failureOf(() => agent.run("go", { threadId: "t" }));
    expect(await store.open().exists("t")).toBe(false);
  });

  test("beforeTool: the tool did not run, nothing says it may have, and it runs when resumed", async () => {
    const store = new MemoryStore();
    let ran = 0;
    const work = tool({ name: "work", execute: () => ++ran });
    const options = { tools: [work], checkpointer: store.open() };
    await failureOf(() =>
      agentOf({ ...options, model: script(), hooks: { beforeTool: boom } }).run("go", { threadId: "t" }),
    );
    expect({ ran, statuses: await store.statuses() }).toEqual({ ran: 0, statuses: ["intended"] });
    const resumed = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [work] });
    await resumed.run(undefined, { threadId: "t" });
    expect({ ran, statuses: await store.statuses() }).toEqual({ ran: 1, statuses: ["succeeded"] });
  });

  test("what was said so far is saved, however seldom the agent saves", async () => {
    const store = new MemoryStore();
    const look = tool({ name: "work", effect: "pure", execute: () => "seen" });
    let asked = 0;
    const agent = agentOf({
      model: script(),
      checkpointer: store.open(),
      tools: [look],
      checkpointEveryNIterations: "end",
      hooks: { beforeModel: () => (++asked === 2 ? boom() : undefined) },
    });
    await failureOf(() => agent.run("go", { threadId: "t" }));
    expect(await store.lines()).toEqual(["user: go", "assistant: (calls work)", "tool: seen"]);
  });
});

describe("a hook after a step cannot lose anything;", () => {
  test.each(["afterModel", "afterTool", "afterIteration", "afterRun"] as const)(
    "%s that throws is a warning",
    async (name) => {
      const store = new MemoryStore();
      const work = tool({ name: "work", execute: () => "done" });
      const agent = agentOf({
        model: script(),
        checkpointer: store.open(),
        tools: [work],
        hooks: { [name]: async () => boom() },
      });
      const run = agent.run("go", { threadId: "t" });
      const warnings = ofType(await eventsOf(run), "warning");
      expect(new Set(warnings.map(({ where }) => where))).toEqual(new Set([name]));
      expect((await run).text).toBe("ready");
      expect(await store.lines()).toHaveLength(4);
    },
  );
});

describe("memory", () => {
  const remembering = (port: Partial<MemoryPort>): MemoryPort => ({
    recall: async () => [],
    remember: async () => undefined,
    ...port,
  });

  test("what is recalled is shown to the model and never stored", async () => {
    const store = new MemoryStore();
    const model = scriptedModel(["hello Ann"]);
    const memory = remembering({ recall: async () => [{ role: "system", content: "The user is Ann." }] });
    await agentOf({ model, checkpointer: store.open(), memory, systemPrompt: "Be kind." }).run("hi", { threadId: "t" });
    expect(model.requests[0]?.messages).toEqual([
      { role: "system", content: "Be kind.\n\nThe user is Ann." },
      { role: "user", content: "hi" },
    ]);
    expect(await store.lines()).toEqual(["user: hi", "assistant: hello Ann"]);
  });

  test("remembers after the answer is stored", async () => {
    const store = new MemoryStore();
    let stored: readonly string[] = [];
    const memory = remembering({
      remember: async () => {
        stored = await store.lines();
      },
    });
    await agentOf({ model: scriptedModel(["yes"]), checkpointer: store.open(), memory }).run("go", { threadId: "t" });
    expect(stored).toEqual(["user: go", "assistant: yes"]);
  });

  test("that fails to remember is a warning; the answer is returned and stored", async () => {
    const store = new MemoryStore();
    const memory = remembering({ remember: async () => boom() });
    const run = agentOf({ model: scriptedModel(["yes"]), checkpointer: store.open(), memory }).run("go", {
      threadId: "t",
    });
    expect(ofType(await eventsOf(run), "warning")).toMatchObject([{ where: "memory" }]);
    expect((await run).text).toBe("yes");
    expect(await store.lines()).toEqual(["user: go", "assistant: yes"]);
  });

  test("that fails to recall leaves a thread that can be resumed", async () => {
    const store = new MemoryStore();
    const memory = remembering({ recall: async () => boom() });
    const agent = agentOf({ model: scriptedModel(["yes"]), checkpointer: store.open(), memory });
    await Promise.resolve(agent.run("go", { threadId: "t" })).catch(() => undefined);
    const resumed = agentOf({ model: scriptedModel(["yes"]), checkpointer: store.open() });
    expect(await resumed.run(undefined, { threadId: "t" })).toMatchObject({ text: "yes" });
  });
});

test("the conversation port shapes what is shown and leaves what is stored", async () => {
  const store = new MemoryStore();
  const model = scriptedModel(["one", "two"]);
  const agent = agentOf({
    model,
    checkpointer: store.open(),
    conversation: { shape: async (messages) => [userMessage("(earlier)"), ...messages.slice(-1)] },
  });
  await agent.run("a", { threadId: "t" });
  await agent.run("b", { threadId: "t" });
  expect(model.requests[1]?.messages.map(({ content }) => content)).toEqual(["(earlier)", "b"]);
  expect(await store.lines()).toHaveLength(4);
});
