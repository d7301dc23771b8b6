import { describe, expect, test } from "vitest";
import { type Tool, tool } from "../../src/agent/tool-call/tool.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { standardSchema } from "./standard-schema.ts";
import { MemoryStore } from "./stored-thread.ts";

/** What the model is told when it calls `work` with these arguments. The run must go on and end well. */
async function told(tools: readonly Tool[], input: unknown = {}, name = "work"): Promise<string> {
  const store = new MemoryStore();
  const model = scriptedModel([{ toolCalls: [{ name, arguments: input }] }, "ready"]);
  const { stopReason, text } = await agentOf({ model, checkpointer: store.open(), tools }).run("go", { threadId: "t" });
  expect({ stopReason, text }).toEqual({ stopReason: "complete", text: "ready" });
  const result = model.requests[1]?.messages.findLast((message) => message.role === "tool");
  expect(result).toMatchObject({ isError: true });
  expect(await store.statuses()).toEqual(["failed"]);
  return result?.content as string;
}

const never = (): never => {
  throw new Error("this must not run");
};
const AMOUNT = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] } as const;

test("a tool that does not exist is answered with the names of those that do", async () => {
  expect(await told([tool({ name: "search", execute: never })], {}, "serch")).toMatch(/"serch".*Available: search/);
});

describe("arguments that do not fit", () => {
  test("JSON Schema: the model is told where and why, and nothing runs", async () => {
    const work = tool({ name: "work", inputSchema: AMOUNT, execute: never });
    expect(await told([work], { amount: "ten" })).toMatch(/do not fit.*amount.*number/s);
    expect(await told([work], {})).toMatch(/do not fit.*amount/s);
  });

  test("Standard Schema: the model is told where and why, and nothing runs", async () => {
    const inputSchema = standardSchema(AMOUNT, (value) =>
      typeof (value as { amount?: unknown }).amount === "number"
        ? { value }
        : { issues: [{ message: "expected a number", path: ["amount", { key: "cents" }] }] },
    );
    const work = tool({ name: "work", inputSchema, execute: never });
    expect(await told([work], { amount: "ten" })).toBe("The arguments do not fit: amount.cents: expected a number");
  });

  test("a tool that declares none is not given any", async () => {
    expect(await told([tool({ name: "work", execute: never })], { surprise: 1 })).toMatch(/do not fit/);
  });

  test.each([
    ["text that is not JSON", '{"amount": 1', /not valid JSON/],
    ["a list", "[1, 2]", /must be a JSON object, not a list/],
    ["a number", "5", /must be a JSON object, not a number/],
  ])("%s is answered and nothing runs", async (_, written, expected) => {
    expect(await told([tool({ name: "work", inputSchema: AMOUNT, execute: never })], written)).toMatch(expected);
  });
});

test("a schema hands its own value to the tool", async () => {
  let given: unknown;
  const inputSchema = standardSchema(AMOUNT, async (value) => ({
    value: { amount: BigInt((value as { amount: number }).amount) },
  }));
  const work = tool({
    name: "work",
    inputSchema,
    execute: (input) => {
      given = input;
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "work", arguments: { amount: 3 } }] }, "ready"]);
  await agentOf({ model, tools: [work] }).run("go");
  expect(given).toEqual({ amount: 3n });
});

test("a schema that throws is a failed call, not a thread that can never go on", async () => {
  const inputSchema = standardSchema(AMOUNT, () => {
    throw new Error("the schema has a bug");
  });
  expect(await told([tool({ name: "work", inputSchema, execute: never })], { amount: 1 })).toMatch(/schema has a bug/);
  const badPattern = { type: "object", properties: { amount: { type: "string", pattern: "(" } } };
  expect(await told([tool({ name: "work", inputSchema: badPattern, execute: never })], { amount: "x" })).not.toBe("");
});

describe("a tool that throws", () => {
  const throwing = (thrown: unknown): Tool =>
    tool({
      name: "work",
      execute: () => {
        throw thrown;
      },
    });

  test("an error: the model is told its message", async () => {
    expect(await told([throwing(new Error("the disk is full"))])).toBe("the disk is full");
  });

  test("an error without words: the model is told its name", async () => {
    expect(await told([throwing(new TypeError(""))])).toBe("TypeError");
  });

  test.each([
    ["a string", "no luck"],
    ["undefined", undefined],
    ["an object without a prototype", Object.create(null)],
    ["an error whose message is no string", Object.assign(new Error("x"), { message: { deep: true } })],
  ])("%s: the run goes on", async (_, thrown) => {
    expect(typeof (await told([throwing(thrown)]))).toBe("string");
  });

  test("later, by a promise: the model is told", async () => {
    const work = tool({ name: "work", execute: async () => Promise.reject(new Error("refused")) });
    expect(await told([work])).toBe("refused");
  });
});

describe("a tool that returns what cannot be written down", () => {
  const cyclic: Record<string, unknown> = { a: [] };
  (cyclic["a"] as unknown[]).push({ self: cyclic });

  test.each([
    ["a cycle", cyclic, "result.a[0].self is circular: it is result again"],
    ["a BigInt", { rows: [{ amount: 1n }] }, "result.rows[0].amount is a BigInt"],
    ["a BigInt alone", 1n, "result is a BigInt"],
    ["NaN", { mean: Number.NaN }, "result.mean is NaN"],
    ["Infinity", [1, Number.POSITIVE_INFINITY], "result[1] is Infinity"],
  ])("%s: the model is told where it is", async (_, returned, where) => {
    expect(await told([tool({ name: "work", execute: () => returned })])).toContain(where);
  });

  test.each([
    ["a cycle", cyclic],
    ["a BigInt", { amount: 1n }],
    [
      "an object whose toJSON throws",
      {
        toJSON: () => {
          throw Object.create(null);
        },
      },
    ],
  ])("%s: the model is told that it ran", async (_, returned) => {
    expect(await told([tool({ name: "work", execute: () => returned })])).toMatch(/The tool ran, but/);
  });
});

const SHARED = { a: 1 };

test.each([
  ["undefined", undefined, "done"],
  ["an empty text", "", ""],
  ["null", null, "null"],
  ["false", false, "false"],
  ["a date", new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ["an object that is in it twice, which is no cycle", { x: SHARED, y: [SHARED] }, '{"x":{"a":1},"y":[{"a":1}]}'],
  ["half of a surrogate pair", "\ud83d", "\ud83d"],
])("a tool that returns %s succeeded", async (_, returned, expected) => {
  const store = new MemoryStore();
  const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
  const work = tool({ name: "work", execute: () => returned });
  await agentOf({ model, checkpointer: store.open(), tools: [work] }).run("go", { threadId: "t" });
  expect((await store.state()).messages[2]).toMatchObject({ role: "tool", content: expected });
  expect(await store.statuses()).toEqual(["succeeded"]);
});

test("what a tool throws may be anything: a revoked Proxy fails the call, and not the run", async () => {
  const store = new MemoryStore();
  const work = tool({
    name: "work",
    execute: () => {
      const { proxy, revoke } = Proxy.revocable(new Error("gone"), {});
      revoke();
      throw proxy;
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
  const run = agentOf({ model, checkpointer: store.open(), tools: [work] }).run("go", { threadId: "t" });
  expect(await run).toMatchObject({ text: "ready" });
  expect(await store.statuses()).toEqual(["failed"]);
});

describe("a tool that hangs", () => {
  test("is given up after its time, and its signal aborts", async () => {
    let signal: AbortSignal | undefined;
    const work = tool({
      name: "work",
      timeoutMs: 5,
      effect: "idempotent",
      execute: (_, context) => {
        signal = context.signal;
        return new Promise(() => undefined);
      },
    });
    expect(await told([work])).toMatch(/did not finish within 5 ms/);
    expect(signal?.aborted).toBe(true);
  });

  test("and may act at most once has an unknown outcome, because it may still take effect", async () => {
    const store = new MemoryStore();
    const work = tool({ name: "work", timeoutMs: 5, execute: () => new Promise(() => undefined) });
    const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
    await agentOf({ model, checkpointer: store.open(), tools: [work] }).run("go", { threadId: "t" });
    expect(await store.statuses()).toEqual(["unknown"]);
    expect(await store.lines()).toHaveLength(4);
  });

  test("does not hold up the calls beside it", async () => {
    const hang = tool({ name: "hang", timeoutMs: 20, execute: () => new Promise(() => undefined) });
    const quick = tool({ name: "quick", execute: () => "done" });
    const model = scriptedModel([{ toolCalls: [{ name: "hang" }, { name: "quick" }] }, "ready"]);
    const events = await eventsOf(agentOf({ model, tools: [hang, quick] }).run("go"));
    expect(ofType(events, "tool-end").map(({ toolName }) => toolName)).toEqual(["quick", "hang"]);
  });
});

test("one call that fails does not cost the results of the calls beside it", async () => {
  const store = new MemoryStore();
  const bad = tool({
    name: "bad",
    execute: () => {
      throw new Error("no");
    },
  });
  const good = tool({ name: "good", execute: () => "yes" });
  const model = scriptedModel([{ toolCalls: [{ name: "bad" }, { name: "good" }, { name: "missing" }] }, "ready"]);
  await agentOf({ model, checkpointer: store.open(), tools: [bad, good] }).run("go", { threadId: "t" });
  expect(await store.statuses()).toEqual(["failed", "succeeded", "failed"]);
});
