import { describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { READ_RESULT } from "../../src/agent/tool-call/tool-result.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import { textOf } from "../../src/state/message.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

const CHAPTER = { type: "object", properties: { n: { type: "number" } } } as const;
const book = (n: number): string => Array.from({ length: 500 }, (_, line) => `chapter ${n}, line ${line}`).join("\n");
const read = tool({
  name: "read",
  inputSchema: CHAPTER,
  effect: "pure",
  execute: (input) => book((input as { n: number }).n),
});
const lastResult = ({ messages }: ModelRequest): string => textOf(messages.at(-1)!);

/** Where the last result says to go on, as a model would take it from the text. */
function nextPart(request: ModelRequest): { name: string; from: number } {
  const named = /read_result\((\{.*\})\)/.exec(lastResult(request));
  if (named?.[1] === undefined) throw new Error(`no reference in ${lastResult(request)}`);
  return JSON.parse(named[1]) as { name: string; from: number };
}

test("a result too large for a message is kept beside it, and the message says how to read on", async () => {
  const store = new MemoryStore();
  const model = scriptedModel([{ toolCalls: [{ name: "read", arguments: { n: 1 } }] }, "ready"]);
  const agent = agentOf({ model, checkpointer: store.open(), tools: [read], maxToolResultChars: 1000 });
  await agent.run("go", { threadId: "t" });
  const { messages, artifacts, toolExecutions } = await store.state();
  expect(textOf(messages[2]!).length).toBeLessThan(1000);
  expect(textOf(messages[2]!)).toMatch(/^chapter 1, line 0\n/);
  expect(artifacts).toEqual({ [toolExecutions[0]!.toolCallId]: book(1) });
});

test("the whole result can be read back, part by part, without loss or overlap", async () => {
  const parts: string[] = [];
  let from = 0;
  const readOn: ScriptStep = (request) => {
    if (parts.length === 0) {
      from = nextPart(request).from;
      parts.push(lastResult(request).slice(0, from));
    } else {
      const part = lastResult(request);
      if (part.startsWith("[end")) return "read";
      parts.push(part);
      from += part.length;
    }
    return { toolCalls: [{ name: READ_RESULT, arguments: { name: "c1", from } }] };
  };
  const first: ScriptStep = { toolCalls: [{ name: "read", arguments: { n: 1 }, id: "c1" }] };
  const model = scriptedModel([first, ...Array.from({ length: 30 }, () => readOn)]);
  await agentOf({ model, tools: [read], maxToolResultChars: 1000, maxIterations: 50 }).run("go");
  expect(parts.join("")).toBe(book(1));
});

test("two large results of one tool in one message do not overwrite each other", async () => {
  const store = new MemoryStore();
  const toolCalls = [1, 2].map((n) => ({ name: "read", arguments: { n } }));
  const agent = agentOf({
    model: scriptedModel([{ toolCalls }, "ready"]),
    checkpointer: store.open(),
    tools: [read],
    maxToolResultChars: 1000,
  });
  await agent.run("go", { threadId: "t" });
  expect(Object.values((await store.state()).artifacts).sort()).toEqual([book(1), book(2)]);
});

test("it can be read in another process, in a later turn", async () => {
  const store = new MemoryStore();
  const options = { tools: [read], maxToolResultChars: 1000 };
  const first = scriptedModel([{ toolCalls: [{ name: "read", arguments: { n: 3 }, id: "c3" }] }, "ready"]);
  await agentOf({ ...options, model: first, checkpointer: store.open() }).run("read it", { threadId: "t" });
  const second = scriptedModel([{ toolCalls: [{ name: READ_RESULT, arguments: { name: "c3", from: 600 } }] }, "there"]);
  await agentOf({ ...options, model: second, checkpointer: store.open() }).run("and then?", { threadId: "t" });
  const [request] = second.requests.slice(1);
  expect(book(3).slice(600).startsWith(lastResult(request!))).toBe(true);
});

test("the reader is offered only where there is something to read", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "read", arguments: { n: 1 } }] }, "ready"]);
  await agentOf({ model, tools: [read], maxToolResultChars: 1000 }).run("go");
  expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["read"], ["read", READ_RESULT]]);
});

describe("the reader", () => {
  test.each([
    ["a name that is not there", { name: "nowhere", from: 0 }],
    ["a name that every object has", { name: "constructor", from: 0 }],
    ["a place before the beginning", { name: "c1", from: -1 }],
  ])("refuses %s", async (_, input) => {
    const model = scriptedModel([
      { toolCalls: [{ name: "read", arguments: { n: 1 }, id: "c1" }] },
      { toolCalls: [{ name: READ_RESULT, arguments: input }] },
      "ready",
    ]);
    await agentOf({ model, tools: [read], maxToolResultChars: 1000 }).run("go");
    expect(model.requests[2]?.messages.at(-1)).toMatchObject({ role: "tool", isError: true });
  });

  test("cannot be silently replaced by a tool of the same name", () => {
    const own = tool({ name: READ_RESULT, execute: () => "mine" });
    expect(() => agentOf({ model: scriptedModel([]), tools: [own] })).toThrow(/read_result/);
  });
});

test("a character outside the basic plane is never cut in two", async () => {
  const store = new MemoryStore();
  const smile = tool({ name: "smile", execute: () => `x${"😀".repeat(2000)}` });
  const model = scriptedModel([{ toolCalls: [{ name: "smile" }] }, "ready"]);
  const agent = agentOf({ model, checkpointer: store.open(), tools: [smile], maxToolResultChars: 1000 });
  await agent.run("go", { threadId: "t" });
  expect(textOf((await store.state()).messages[2]!).isWellFormed()).toBe(true);
});

test.each([0, -5, Number.NaN])("a largest result of %s characters is refused when the agent is made", (chars) => {
  expect(() => agentOf({ model: scriptedModel([]), maxToolResultChars: chars })).toThrow(/maxToolResultChars/);
});
