import { describe, expect, test } from "vitest";
import type { AgentHooks } from "../../src/agent/hooks.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

const script = () => scriptedModel([{ toolCalls: [{ name: "pay", arguments: { amount: 9 } }] }, "the pin is 1234"]);

function setUp(hooks: AgentHooks, model = script()) {
  const store = new MemoryStore();
  const paid: unknown[] = [];
  const pay = tool({
    name: "pay",
    inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
    execute: (input) => {
      paid.push(input);
      return "paid from account 99";
    },
  });
  return { store, paid, model, agent: agentOf({ model, tools: [pay], hooks, checkpointer: store.open() }) };
}

describe("a guard of prompts", () => {
  test("replaces what the user said before anything is stored or asked", async () => {
    const { agent, store, model } = setUp(
      { guardPrompt: () => ({ replace: "my card is ****" }) },
      scriptedModel(["ok"]),
    );
    await agent.run("my card is 4111", { threadId: "t" });
    expect(await store.lines()).toEqual(["user: my card is ****", "assistant: ok"]);
    expect(JSON.stringify(model.requests)).not.toContain("4111");
  });

  test("refuses it: no model is asked and no thread is made", async () => {
    const { agent, store, model } = setUp({ guardPrompt: () => ({ refuse: "not here" }) });
    const run = agent.run("do something bad", { threadId: "t" });
    const events = await eventsOf(run);
    expect(await run).toMatchObject({ stopReason: "guarded", text: "not here" });
    expect(ofType(events, "guarded")).toEqual([
      { type: "guarded", what: "prompt", verdict: "refused", reason: "not here" },
    ]);
    expect(model.requests).toHaveLength(0);
    expect(await store.open().load("t")).toBeUndefined();
  });

  test("a message that was let in once, by its id, is not judged again", async () => {
    let asked = 0;
    const guardPrompt = () => ({ replace: `number ${++asked}` });
    const { agent } = setUp({ guardPrompt }, scriptedModel(["first"]));
    const options = { threadId: "t", messageId: "m" };
    expect((await agent.run("hello", options)).text).toBe("first");
    expect((await agent.run("hello", options)).text).toBe("first");
    expect(asked).toBe(1);
  });
});

describe("a guard of answers", () => {
  test("replaces the answer before a word of it is shown", async () => {
    const { agent, store } = setUp({
      guardAnswer: ({ message }) =>
        String(message.content).includes("1234") ? { replace: "I may not say the pin" } : undefined,
    });
    const run = agent.run("go", { threadId: "t" });
    const events = await eventsOf(run);
    expect((await run).text).toBe("I may not say the pin");
    expect(JSON.stringify(events)).not.toContain("1234");
    expect(ofType(events, "model-delta").map(({ text }) => text)).toEqual(["I may not say the pin"]);
    expect((await store.lines()).at(-1)).toBe("assistant: I may not say the pin");
  });

  test("an answer that passes is shown as it came", async () => {
    const { agent } = setUp({ guardAnswer: () => undefined });
    const deltas = ofType(await eventsOf(agent.run("go", { threadId: "t" })), "model-delta");
    expect(deltas.map(({ text }) => text)).toEqual(["the", " pin", " is", " 1234"]);
  });

  test("refuses it: its calls are not run, the reason stands there, the turn is over", async () => {
    const { agent, store, paid } = setUp({ guardAnswer: () => ({ refuse: "I cannot do that." }) });
    expect(await agent.run("go", { threadId: "t" })).toMatchObject({
      stopReason: "guarded",
      text: "I cannot do that.",
    });
    expect(paid).toEqual([]);
    expect(await store.lines()).toEqual(["user: go", "assistant: I cannot do that."]);
    expect((await agent.run(undefined, { threadId: "t" })).stopReason).toBe("guarded");
  });

  test("one that throws ends the run, and what it was shown is in no error", async () => {
    const { agent, store } = setUp({
      guardAnswer: ({ message }) => {
        if (message.toolCalls === undefined) throw new Error("the guard is ill");
        return undefined;
      },
    });
    const failure = await agent.run("go", { threadId: "t" }).then(String, (error: unknown) => error as object);
    expect(failure).toMatchObject({ message: expect.stringContaining("the guard is ill"), text: "" });
    expect((await store.lines()).join()).not.toContain("1234");
  });
});

describe("a guard of calls", () => {
  test("replaces the arguments, and the result says with what it was done", async () => {
    const { agent, store, paid } = setUp({ guardCall: () => ({ replace: { amount: 5 } }) });
    await agent.run("go", { threadId: "t" });
    expect(paid).toEqual([{ amount: 5 }]);
    expect((await store.lines())[2]).toBe('tool: The arguments were changed to {"amount":5}. paid from account 99');
  });

  test("what it put in place is what an attempt after a crash is made with", async () => {
    const store = new MemoryStore();
    const paid: unknown[] = [];
    const hang = new Promise<never>(() => undefined);
    const pay = (execute: (input: unknown) => unknown) =>
      tool({
        name: "pay",
        inputSchema: { type: "object", properties: { amount: { type: "number" } } },
        effect: "idempotent",
        execute,
      });
    let begun: () => void = () => undefined;
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const first = agentOf({
      model: script(),
      checkpointer: store.open(),
      hooks: { guardCall: () => ({ replace: { amount: 5 } }) },
      tools: [
        pay(() => {
          begun();
          return hang;
        }),
      ],
    });
    void first.run("go", { threadId: "t" }).catch(() => undefined);
    await isBegun;
    store.killAll();
    const tools = [pay((input) => paid.push(input))];
    const guardCall = (): never => {
      throw new Error("a call that was begun is not judged again");
    };
    const second = agentOf({
      model: scriptedModel(["ready"]),
      checkpointer: store.open(),
      tools,
      hooks: { guardCall },
    });
    expect((await second.run(undefined, { threadId: "t" })).stopReason).toBe("complete");
    expect(paid).toEqual([{ amount: 5 }]);
  });

  test("arguments that do not fit the tool are not run", async () => {
    const { agent, store, paid } = setUp({ guardCall: () => ({ replace: { amount: "much" } }) });
    await agent.run("go", { threadId: "t" });
    expect(paid).toEqual([]);
    expect(await store.statuses()).toEqual(["failed"]);
  });

  test("refuses the call: it is denied and the model is told why", async () => {
    const { agent, store, paid } = setUp({ guardCall: () => ({ refuse: "over the limit" }) });
    await agent.run("go", { threadId: "t" });
    expect(paid).toEqual([]);
    expect(await store.statuses()).toEqual(["denied"]);
    expect((await store.lines())[2]).toBe("tool: This call was refused. The reason: over the limit");
  });
});

describe("a guard of results", () => {
  test("lets what the tool returned pass into the event that its call has ended", async () => {
    const { agent } = setUp({ guardResult: () => undefined });
    const events = await eventsOf(agent.run("go", { threadId: "t" }));
    expect(ofType(events, "tool-end")).toMatchObject([{ status: "succeeded", result: "paid from account 99" }]);
  });

  test.each([
    ["replaces", { replace: "paid" }, "paid"],
    ["refuses", { refuse: "account numbers" }, "The result is kept back. The reason: account numbers"],
  ])("%s what the tool brought; the call stays settled", async (_, verdict, shown) => {
    const { agent, store, model } = setUp({ guardResult: () => verdict });
    const events = await eventsOf(agent.run("go", { threadId: "t" }));
    expect(ofType(events, "tool-end")).toEqual([expect.not.objectContaining({ result: expect.anything() })]);
    expect((await store.lines())[2]).toBe(`tool: ${shown}`);
    expect(await store.statuses()).toEqual(["succeeded"]);
    expect(JSON.stringify(model.requests)).not.toContain("99");
  });

  test("one that throws keeps the result back and loses no effect", async () => {
    const { agent, store, paid } = setUp({
      guardResult: () => {
        throw new Error("ill");
      },
    });
    const run = agent.run("go", { threadId: "t" });
    expect(ofType(await eventsOf(run), "warning").map(({ where }) => where)).toEqual(["guardResult"]);
    expect(paid).toHaveLength(1);
    expect(await store.statuses()).toEqual(["succeeded"]);
    expect((await store.lines()).join()).not.toContain("99");
  });
});
