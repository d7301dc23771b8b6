import { describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { writtenResult } from "../../src/agent/tool-call/tool-result.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

describe("a run says how its last answer ended", () => {
  test.each<[stopReason: string, step: ScriptStep, text: string]>([
    ["length", { text: "once upon a", finishReason: "length" }, "once upon a"],
    ["content-filter", { text: "once", finishReason: "content-filter" }, "once"],
    ["refusal", { text: "I had rather not", finishReason: "refusal" }, "I had rather not"],
    ["error", { text: "", finishReason: "error" }, ""],
    ["empty", { text: "" }, ""],
    ["empty", { text: " \n", reasoning: "what could I say" }, " \n"],
    ["complete", { text: "yes", finishReason: "other" }, "yes"],
  ])("%s, also to a caller that asks for the answer again", async (stopReason, step, text) => {
    const store = new MemoryStore();
    const first = await agentOf({ model: scriptedModel([step]), checkpointer: store.open() }).run("go", {
      threadId: "t",
    });
    expect(first).toMatchObject({ stopReason, text });
    const again = agentOf({ model: scriptedModel([]), checkpointer: store.open() });
    expect(await again.run(undefined, { threadId: "t" })).toMatchObject({ stopReason, text, iterations: 0 });
  });

  test("the model's own reason is in the event of every message of the model's", async () => {
    const look = tool({ name: "look", effect: "pure", execute: () => "seen" });
    const model = scriptedModel([{ toolCalls: [{ name: "look" }] }, { text: "so", finishReason: "length" }]);
    const said = ofType(await eventsOf(agentOf({ model, tools: [look] }).run("go")), "message");
    expect(said.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", undefined, "length"]);
    expect(said.map(({ message }) => (message as { finishReason?: string }).finishReason)).toEqual([
      undefined,
      undefined,
      "length",
    ]);
  });

  test.each(["content-filter", "refusal", "error"] as const)(
    "calls of an answer that ended by %s are not run and not left open",
    async (finishReason) => {
      const store = new MemoryStore();
      let paid = 0;
      const pay = tool({ name: "pay", execute: () => ++paid });
      const model = scriptedModel([{ text: "I pay", toolCalls: [{ name: "pay" }], finishReason }, "thanks"]);
      const agent = agentOf({ model, checkpointer: store.open(), tools: [pay] });
      expect((await agent.run("pay", { threadId: "t" })).stopReason).toBe(finishReason);
      expect((await agent.run("never mind", { threadId: "t" })).stopReason).toBe("complete");
      expect({ paid, statuses: await store.statuses() }).toEqual({ paid: 0, statuses: [] });
    },
  );

  test("at the limit of its length a call whose arguments did not begin is not run; one that is whole is", async () => {
    const ran: unknown[] = [];
    const write = tool({ name: "write", inputSchema: { type: "object" }, execute: (input) => void ran.push(input) });
    const calls = [
      { name: "write", arguments: { line: 1 } },
      { name: "write", arguments: "" },
    ];
    const model = scriptedModel([{ toolCalls: calls, finishReason: "length" }, "ready"]);
    expect((await agentOf({ model, tools: [write] }).run("go")).stopReason).toBe("complete");
    expect(ran).toEqual([{ line: 1 }]);
  });

  test("with an output schema, an answer that was refused or cut off is not asked for again", async () => {
    const schema = { type: "object" };
    for (const finishReason of ["length", "refusal", "content-filter"] as const) {
      const model = scriptedModel([{ text: '{"a":', finishReason }]);
      expect((await agentOf({ model, outputSchema: schema }).run("go")).stopReason).toBe(finishReason);
    }
    const model = scriptedModel([{ text: "" }, "{}"]);
    expect(await agentOf({ model, outputSchema: schema }).run("go")).toMatchObject({
      stopReason: "complete",
      output: {},
    });
  });
});

describe("a result that cannot be written down is the call's error and never {} or done", () => {
  class Sealed {
    #secret = 1;
    get open(): boolean {
      return this.#secret === 2;
    }
  }
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;

  test.each<[what: string, value: unknown, says: RegExp]>([
    ["an Error", new TypeError("no such order"), /result is an Error: no such order/],
    ["an error with members", Object.assign(new Error("gone"), { code: 7 }), /result is an Error: gone/],
    ["a Map", new Map([["a", 1]]), /result is an object of class Map/],
    ["a Set", new Set([1]), /class Set/],
    ["a Response", new Response("hello"), /class Response/],
    ["bytes", new Uint8Array([1, 2]), /class Uint8Array/],
    ["a generator", (function* () {})(), /result is an object/],
    ["an async generator", (async function* () {})(), /result is an object/],
    ["a function", () => 1, /result is a function/],
    ["a symbol", Symbol("x"), /result is a symbol/],
    ["a class with nothing to show", new Sealed(), /class Sealed/],
    ["methods alone", { next: () => 1 }, /content JSON does not show/],
    ["a Map further down", { user: { tags: new Map() } }, /result\.user\.tags is an object of class Map/],
    ["an Error in a list", [{ reason: new Error("lost") }], /result\[0\]\.reason is an Error: lost/],
    ["a function in a list", [() => 1], /result\[0\] is a function/],
    ["a promise further down", { later: Promise.resolve(1) }, /result\.later is an object of class Promise/],
    ["a bigint", 1n, /BigInt/],
    ["a circle", loop, /circular/i],
  ])("%s", async (_, value, says) => {
    const store = new MemoryStore();
    const work = tool({ name: "work", execute: () => value });
    const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
    await agentOf({ model, checkpointer: store.open(), tools: [work] }).run("go", { threadId: "t" });
    expect(await store.statuses()).toEqual(["failed"]);
    const { messages } = await store.state();
    expect(messages[2]).toMatchObject({ role: "tool", isError: true, content: expect.stringMatching(says) });
    expect((messages[2] as { content: string }).content).toContain("The tool ran, but");
  });

  test.each<[what: string, value: unknown, text: string]>([
    ["nothing", undefined, "done"],
    ["null", null, "null"],
    ["an empty object", {}, "{}"],
    ["an object without values", { a: undefined }, "{}"],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ["a date", new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ["what writes itself", { at: new Date(0), toJSON: () => ({ b: 2 }) }, '{"b":2}'],
    ["an object with a method", { a: 1, save: () => 1 }, '{"a":1}'],
    ["the same object twice", [loop["nothing"] ?? { a: [] }, { a: [] }], '[{"a":[]},{"a":[]}]'],
    ["a key that is empty", { "": { "": 1 } }, '{"":{"":1}}'],
  ])("%s can be written down", (_, value, text) => {
    expect(writtenResult(value)).toEqual({ text });
  });
});
