import { describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { textOf, userMessage } from "../../src/state/message.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { turnsPass } from "../turns-of-the-loop.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

const echo: ScriptStep = ({ messages }) => `about ${textOf(messages.at(-1)!)}`;

describe("the same message id twice is answered once:", () => {
  test("the second gets the first one's answer, from another process, and no model is asked", async () => {
    const store = new MemoryStore();
    const first = agentOf({ model: scriptedModel([echo]), checkpointer: store.open() });
    await first.run("tea", { threadId: "t", messageId: "m1" });
    const model = scriptedModel([]);
    const again = agentOf({ model, checkpointer: store.open() });
    const results = [
      await again.run("tea", { threadId: "t", messageId: "m1" }),
      await again.run(userMessage("tea", { id: "m1" }), { threadId: "t" }),
    ];
    expect(results.map(({ text, stopReason }) => [text, stopReason])).toEqual([
      ["about tea", "complete"],
      ["about tea", "complete"],
    ]);
    expect(await store.lines()).toEqual(["user: tea", "assistant: about tea"]);
  });

  test("also when the conversation went on since", async () => {
    const store = new MemoryStore();
    const agent = agentOf({ model: scriptedModel([echo, echo, echo]), checkpointer: store.open() });
    for (const word of ["one", "two", "three"]) await agent.run(word, { threadId: "t", messageId: word });
    const texts = [];
    for (const word of ["two", "one", "three"]) {
      texts.push((await agent.run(word, { threadId: "t", messageId: word })).text);
    }
    expect(texts).toEqual(["about two", "about one", "about three"]);
    expect(await store.lines()).toHaveLength(6);
  });

  test.each(["wait", "reject"] as const)(
    "also while it runs, in this process and in another (%s)",
    async (whenBusy) => {
      const store = new MemoryStore();
      const [asked, go] = [gate(), gate()];
      const slow: ScriptStep = async () => {
        asked.open();
        await go.opened;
        return "the answer";
      };
      const checkpointer = store.open();
      const agent = agentOf({ model: scriptedModel([slow]), checkpointer });
      const options = { threadId: "t", messageId: "m", whenBusy };
      const first = agent.run("go", options);
      await asked.opened;
      await store.holds(1);
      const others = [
        agent.run("go", options),
        agentOf({ model: scriptedModel([]), checkpointer: store.open() }).run("go", options),
      ];
      go.open();
      const texts = (await Promise.all([first, ...others])).map(({ text }) => text);
      expect(texts).toEqual(["the answer", "the answer", "the answer"]);
      expect(await store.lines()).toEqual(["user: go", "assistant: the answer"]);
    },
  );

  test("two processes that bring it to a new thread at once", async () => {
    const store = new MemoryStore();
    const run = () =>
      agentOf({ model: scriptedModel([echo, echo]), checkpointer: store.open() }).run("tea", {
        threadId: "t",
        messageId: "m",
      });
    expect((await Promise.all([run(), run(), run()])).map(({ text }) => text)).toEqual(Array(3).fill("about tea"));
    expect(await store.lines()).toEqual(["user: tea", "assistant: about tea"]);
  });

  test("a turn that was not finished is finished", async () => {
    const store = new MemoryStore();
    const agent = agentOf({ model: scriptedModel([new Error("down"), echo]), checkpointer: store.open() });
    const options = { threadId: "t", messageId: "m" };
    await failureOf(() => agent.run("tea", options));
    expect((await agent.run("tea", options)).text).toBe("about tea");
    expect(await store.lines()).toEqual(["user: tea", "assistant: about tea"]);
  });

  test("a turn that waits for a person says so again", async () => {
    const store = new MemoryStore();
    const pay = tool({ name: "pay", needsApproval: true, execute: () => "paid" });
    const model = scriptedModel([{ toolCalls: [{ name: "pay", id: "c" }] }]);
    const agent = agentOf({ model, checkpointer: store.open(), tools: [pay] });
    const options = { threadId: "t", messageId: "m" };
    await agent.run("pay", options);
    expect(await agent.run("pay", options)).toMatchObject({
      stopReason: "pending",
      pending: [{ id: "c/approval" }],
    });
  });

  test("with an output schema, its output comes again too", async () => {
    const store = new MemoryStore();
    const outputSchema = { type: "object", properties: { n: { type: "number" } } } as const;
    const agent = agentOf({ model: scriptedModel(['{"n":1}', '{"n":2}']), checkpointer: store.open(), outputSchema });
    for (const id of ["a", "b"]) await agent.run(id, { threadId: "t", messageId: id });
    expect(await agent.run("a", { threadId: "t", messageId: "a" })).toMatchObject({ output: { n: 1 } });
  });
});

test("an id that was used for other words is refused", async () => {
  const agent = agentOf({ model: scriptedModel([echo]), checkpointer: new MemoryStore().open() });
  await agent.run("tea", { threadId: "t", messageId: "m" });
  const failure = await failureOf(() => agent.run("coffee", { threadId: "t", messageId: "m" }));
  expect(failure).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining('"m" was used for other words'),
  });
  expect(() => agent.run(userMessage("x", { id: "a" }), { threadId: "t", messageId: "b" })).toThrow(/two ids/);
});

test("the same words under another id are another message", async () => {
  const store = new MemoryStore();
  const agent = agentOf({ model: scriptedModel([new Error("down"), echo]), checkpointer: store.open() });
  await failureOf(() => agent.run("tea", { threadId: "t", messageId: "a" }));
  await agent.run("tea", { threadId: "t", messageId: "b" });
  expect(await store.lines()).toEqual(["user: tea", "user: tea", "assistant: about tea"]);
});

/** Something waits in the thread's mailbox. */
async function untilSent(store: MemoryStore): Promise<void> {
  while ((await store.open().signals("t")).length === 0) await turnsPass();
}

describe("what is said while a run is under way", () => {
  function busy(store: MemoryStore, steps: readonly ScriptStep[]) {
    const [begun, go] = [gate(), gate()];
    const work = tool({
      name: "work",
      execute: async () => {
        begun.open();
        await go.opened;
        return "done";
      },
    });
    const model = scriptedModel(steps);
    const agent = agentOf({ model, checkpointer: store.open(), tools: [work] });
    return { agent, model, begun: begun.opened, end: go.open };
  }
  const callsWork: ScriptStep = { toolCalls: [{ name: "work" }] };

  test("joins it at its next step with whenBusy: enqueue, and gets its result and its events", async () => {
    const store = new MemoryStore();
    const { agent, begun, end } = busy(store, [callsWork, "both"]);
    const first = agent.run("go", { threadId: "t" });
    await begun;
    const second = agent.run("and hurry", { threadId: "t", whenBusy: "enqueue" });
    await untilSent(store);
    end();
    expect((await Promise.all([first, second])).map(({ text }) => text)).toEqual(["both", "both"]);
    expect(await store.lines()).toEqual([
      "user: go",
      "assistant: (calls work)",
      "tool: done",
      "user: and hurry",
      "assistant: both",
    ]);
    expect(ofType(await eventsOf(second), "message").map(({ message }) => textOf(message))).toContain("both");
  });

  test("twice with one id joins it once, and both get its result", async () => {
    const store = new MemoryStore();
    const { agent, begun, end } = busy(store, [callsWork, "both"]);
    const first = agent.run("go", { threadId: "t" });
    await begun;
    const options = { threadId: "t", whenBusy: "enqueue", messageId: "m1" } as const;
    const clicks = [agent.run("order it", options), agent.run("order it", options)];
    await untilSent(store);
    end();
    expect((await Promise.all([first, ...clicks])).map(({ text }) => text)).toEqual(["both", "both", "both"]);
    expect((await store.lines()).filter((line) => line === "user: order it")).toHaveLength(1);
  });

  test("and was answered before gets that answer, not the one of the run under way", async () => {
    const store = new MemoryStore();
    const { agent, begun, end } = busy(store, ["tea is ordered", callsWork, "done"]);
    const options = { threadId: "t", whenBusy: "enqueue", messageId: "m1" } as const;
    await agent.run("order tea", options);
    const other = agent.run("go", { threadId: "t" });
    await begun;
    const again = agent.run("order tea", options);
    await turnsPass();
    end();
    expect((await Promise.all([other, again])).map(({ text }) => text)).toEqual(["done", "tea is ordered"]);
  });

  test("waits its turn where the run asks the model no more", async () => {
    const store = new MemoryStore();
    const [asked, go] = [gate(), gate()];
    const slow: ScriptStep = async () => {
      asked.open();
      await go.opened;
      return "one";
    };
    const agent = agentOf({ model: scriptedModel([slow, "two"]), checkpointer: store.open(), whenBusy: "enqueue" });
    const first = agent.run("1", { threadId: "t" });
    await asked.opened;
    const second = agent.run("2", { threadId: "t" });
    await turnsPass();
    go.open();
    expect((await Promise.all([first, second])).map(({ text }) => text)).toEqual(["one", "two"]);
    expect(await store.lines()).toEqual(["user: 1", "assistant: one", "user: 2", "assistant: two"]);
  });

  test("from another process waits its turn", async () => {
    const store = new MemoryStore();
    const { agent, begun, end } = busy(store, [callsWork, "one"]);
    const first = agent.run("1", { threadId: "t" });
    await begun;
    const other = agentOf({ model: scriptedModel(["two"]), checkpointer: store.open(), whenBusy: "enqueue" });
    const second = other.run("2", { threadId: "t" });
    end();
    expect((await Promise.all([first, second])).map(({ text }) => text)).toEqual(["one", "two"]);
  });
});
