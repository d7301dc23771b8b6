import {
  Agent,
  type AgentInputItem,
  MemorySession,
  type Model,
  type ModelResponse,
  Runner,
  type Session,
  tool,
  Usage,
} from "@openai/agents-core";
import { describe, expect, test } from "vitest";
import type { AgentsItem } from "../../src/adapters/openai-agents/items.ts";
import { type OpenAIAgentsSession, openAIAgentsSession } from "../../src/adapters/openai-agents/session.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { MemoryStore } from "../agent/stored-thread.ts";
import { failureOf } from "../failure-of.ts";
import { InterruptedLog } from "../interrupted-log.ts";

const user = (content: string): AgentInputItem => ({ type: "message", role: "user", content });
const said = (text: string) => ({
  type: "message" as const,
  role: "assistant" as const,
  status: "completed" as const,
  content: [{ type: "output_text" as const, text }],
});

/** Every kind of item that the SDK keeps, with what it may carry besides. */
const ITEMS: readonly AgentInputItem[] = [
  { type: "message", role: "system", content: "Be kind." },
  user("hi"),
  { role: "user", content: "without a type" } as AgentInputItem,
  {
    type: "message",
    role: "user",
    content: [
      { type: "input_text", text: "two" },
      { type: "input_image", image: "https://example.com/a.png" },
    ],
  },
  {
    type: "reasoning",
    id: "rs_1",
    content: [{ type: "input_text", text: "hm" }],
    providerData: { encrypted_content: "abc" },
  },
  { type: "function_call", id: "fc_1", callId: "c1", name: "add", status: "completed", arguments: '{"a": 1, "b":2}' },
  { type: "function_call", callId: "c2", name: "add", status: "completed", arguments: '{"a":1}' },
  { type: "function_call", callId: "c3", name: "add", arguments: "{not json" },
  { type: "function_call_result", callId: "c1", name: "add", status: "completed", output: { type: "text", text: "3" } },
  { type: "function_call_result", callId: "c2", name: "add", status: "completed", output: "plain" },
  { ...said("three"), id: "msg_1", providerData: { x: 1 } },
  said("plain"),
  { type: "compaction", encrypted_content: "zzz" } as unknown as AgentInputItem,
  { type: "unknown", providerData: { anything: [1, null, { deep: true }] } },
];

const open = (store = new MemoryStore()) => ({
  store,
  session: openAIAgentsSession<AgentInputItem>(store.open(), "t"),
});

test("every item comes back as it was given, in another process, too", async () => {
  const { store, session } = open();
  await session.addItems([...ITEMS]);
  expect(await session.getItems()).toEqual(ITEMS);
  expect(await open(store).session.getItems()).toEqual(ITEMS);
  expect(await session.getItems(2)).toEqual(ITEMS.slice(-2));
  expect(await session.getItems(0)).toEqual([]);
  expect(await session.getSessionId()).toBe("t");
});

test("the thread can be read and searched like any other", async () => {
  const { store, session } = open();
  await session.addItems([...ITEMS]);
  expect(await store.lines()).toEqual(
    expect.arrayContaining(["user: hi", "assistant: (calls add)", "tool: 3", "assistant: three"]),
  );
});

test("what is plain is stored once, without a second copy beside it", async () => {
  const { store, session } = open();
  await session.addItems([user("hi"), ITEMS[6]!, ITEMS[8]!, said("plain")]);
  expect((await store.state()).messages.every(({ metadata }) => metadata === undefined)).toBe(true);
});

test("it does what the SDK's own session in memory does", async () => {
  const steps: readonly ((session: Session) => Promise<unknown>)[] = [
    (session) => session.popItem(),
    (session) => session.getItems(),
    (session) => session.addItems([user("a"), said("b"), user("c")]),
    (session) => session.getItems(2),
    (session) => session.popItem(),
    (session) => session.addItems([]),
    (session) => session.getItems(),
    (session) => session.clearSession(),
    (session) => session.getItems(),
    (session) => session.addItems([user("d")]),
    (session) => session.getItems(100),
  ];
  const theirs = new MemorySession();
  const { session: ours } = open();
  for (const step of steps) expect(await step(ours)).toEqual(await step(theirs));
});

test("processes that add at once lose nothing", async () => {
  const store = new MemoryStore();
  await Promise.all(Array.from({ length: 6 }, (_, index) => open(store).session.addItems([user(`from ${index}`)])));
  const items = await open(store).session.getItems();
  expect(new Set(items.map((item) => (item as { content: string }).content)).size).toBe(6);
});

test("clearing empties the conversation, and its history stays", async () => {
  const { store, session } = open();
  await session.addItems([user("a")]);
  const [before] = await store.checkpointIds();
  await session.clearSession();
  expect(await session.getItems()).toEqual([]);
  const state = await store.open().load("t", { checkpointId: before! });
  expect(state?.messages).toHaveLength(1);
});

describe("a transaction", () => {
  const append = { type: "append_items" as const, items: [user("a")] as unknown as AgentsItem[] };
  test("that is repeated is made once; another one under its name is refused", async () => {
    const { store, session } = open();
    await session.applyHistoryTransaction({ operationId: "op", transaction: append });
    await open(store).session.applyHistoryTransaction({ operationId: "op", transaction: append });
    expect(await session.getItems()).toEqual([user("a")]);
    const other = { ...append, items: [user("b")] as unknown as AgentsItem[] };
    const failure = await failureOf(() => session.applyHistoryTransaction({ operationId: "op", transaction: other }));
    expect(failure.code).toBe("CONFLICT");
    expect(await session.getItems()).toEqual([user("a")]);
  });

  test("that replaces an end which is not there is refused and changes nothing", async () => {
    const { session } = open();
    await session.addItems([user("a"), user("b")]);
    const replace = (expected: string) =>
      session.applyHistoryTransaction({
        operationId: expected,
        transaction: {
          type: "replace_suffix",
          expectedSuffix: [user(expected)] as never,
          replacement: [user("c")] as never,
        },
      });
    expect((await failureOf(() => replace("x"))).code).toBe("CONFLICT");
    await replace("b");
    expect(await session.getItems()).toEqual([user("a"), user("c")]);
  });
});

describe("with the SDK's runner", () => {
  /** Calls the tool once in each conversation turn that asks for it, then answers with how many items it was shown. */
  const model: Model = {
    async getResponse({ input }): Promise<ModelResponse> {
      const items = input as AgentInputItem[];
      const last = items.at(-1);
      const wantsTool = last?.type !== "function_call_result" && JSON.stringify(last).includes("add");
      const output = wantsTool
        ? [
            {
              type: "function_call" as const,
              callId: `c${items.length}`,
              name: "add",
              status: "completed" as const,
              arguments: '{"a":1,"b":2}',
            },
          ]
        : [said(`${items.length} items`)];
      return { usage: new Usage(), output };
    },
    getStreamedResponse() {
      throw new Error("not used");
    },
  };
  const add = tool({
    name: "add",
    description: "adds",
    parameters: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
      additionalProperties: false,
    },
    execute: async (input) => String((input as { a: number }).a + (input as { b: number }).b),
  });

  test("a conversation with tools goes on in another process", async () => {
    const store = new MemoryStore();
    const say = async (prompt: string) => {
      const session = openAIAgentsSession<AgentInputItem>(store.open(), "t") as OpenAIAgentsSession<AgentInputItem> &
        Session;
      const agent = new Agent({ name: "adder", model, tools: [add] });
      return (await new Runner({ tracingDisabled: true }).run(agent, prompt, { session })).finalOutput;
    };
    expect(await say("add 1 and 2")).toBe("3 items");
    expect(await say("and now?")).toBe("5 items");
    expect(await store.lines()).toEqual([
      "user: add 1 and 2",
      "assistant: (calls add)",
      "tool: 3",
      "assistant: 3 items",
      "user: and now?",
      "assistant: 5 items",
    ]);
  });
});

test("items that may be there already, where a vacuum left no trace of their first attempt, are not added again", async () => {
  const log = new InterruptedLog();
  await log.othersAdd(1);
  const checkpointer = new Checkpointer(log, { retry: { attempts: 2, baseDelayMs: 1 } });
  const session = openAIAgentsSession(checkpointer, "t");
  log.meanwhile = async () => {
    await log.othersAdd(3);
    await log.vacuum();
  };
  log.failures.push("after");
  const failure = await failureOf(() => session.addItems([user("mine")]));
  expect(failure).toMatchObject({ code: "CONFLICT", context: { written: "unknown" } });
  expect(await log.timesSaid("mine")).toBe(1);
});
