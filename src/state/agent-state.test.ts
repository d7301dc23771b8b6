import { describe, expect, onTestFinished, test } from "vitest";
import { exactForm } from "../../test/exact-form.ts";
import { failureOf } from "../../test/failure-of.ts";
import { AgentState } from "./agent-state.ts";
import type { Interrupt, StateFields } from "./fields.ts";
import { assistantMessage, type Message, systemMessage, toolMessage, userMessage } from "./message.ts";

const asked: Interrupt = { id: "i1", toolCallId: "c1", kind: "question", question: "which?", askedAt: 1 };
const written = AgentState.create({ agentId: "a1" })
  .withMessage(systemMessage("be brief"))
  .withMessages([
    userMessage([{ type: "file", mediaType: "image/png", data: Uint8Array.of(1, 2), filename: "a.png" }], {
      name: "ada",
    }),
    assistantMessage("", {
      toolCalls: [{ id: "c1", name: "add", arguments: { a: 1n } }],
      providerMetadata: { anthropic: { signature: "s" } },
    }),
    toolMessage("2", { toolCallId: "c1", toolName: "add" }),
  ])
  .withToolExecution({ toolCallId: "c1", toolName: "add", status: "succeeded", startedAt: 1, settledAt: 2 })
  .withReasoningStep({ iteration: 1, thought: "add them", confidence: 0.5 })
  .withError({ at: 3, where: "model", message: "overloaded" })
  .withUsage({ runs: 1, inputTokens: 12 })
  .withInterrupt(asked)
  .withArtifact("r1", "a long result")
  .withProviderState({ openai: { previous: "r1" } })
  .withMetadata({ at: new Date(0), tags: new Set(["x"]) });

test("states made from one long conversation keep to themselves, whichever is continued first", () => {
  const message = (name: string, index: number) => userMessage(`${name} ${index}`);
  const long = AgentState.create().withMessages(Array.from({ length: 5000 }, (_, index) => message("m", index)));
  const one = long.withMessage(message("one", 1));
  const other = long.withMessage(message("other", 1));
  const further = one.withMessages([message("one", 2), message("one", 3)]);
  const again = one.withMessage(message("again", 2));
  const endOf = ({ messages }: AgentState) => messages.slice(4999).map(({ content }) => content);
  expect(endOf(long)).toEqual(["m 4999"]);
  expect(endOf(one)).toEqual(["m 4999", "one 1"]);
  expect(endOf(other)).toEqual(["m 4999", "other 1"]);
  expect(endOf(further)).toEqual(["m 4999", "one 1", "one 2", "one 3"]);
  expect(endOf(again)).toEqual(["m 4999", "one 1", "again 2"]);
  for (const { messages } of [long, one, other, further, again]) {
    expect(Object.isFrozen(messages)).toBe(true);
    expect(messages[0]).toBe(long.messages[0]);
  }
});

test("a state turns into plain JSON and back into an equal state", () => {
  const text = JSON.stringify(written.toCheckpoint());
  const read = AgentState.fromCheckpoint(JSON.parse(text));
  expect(exactForm(read.fields)).toBe(exactForm(written.fields));
  expect(JSON.stringify(read.toCheckpoint())).toBe(text);
});

test("fields of a newer version that this one does not know are kept", () => {
  const document = { format: 1, state: { messages: [], artefacts: [{ id: 1 }], planId: "p" } };
  const state = AgentState.fromCheckpoint(document).withMessage(userMessage("a"));
  expect(state.toCheckpoint().state).toMatchObject({ artefacts: [{ id: 1 }], planId: "p" });
});

test("a message keeps fields that this version does not know", () => {
  const message = { role: "user", content: "a", reaction: { emoji: "+1" } } as Message;
  expect(AgentState.create().withMessage(message).messages[0]).toEqual(message);
});

describe("each change leaves the state it was made from alone", () => {
  const before = exactForm(written.fields);
  const changes: readonly [name: string, change: () => AgentState][] = [
    ["withMessage", () => written.withMessage(userMessage("more"))],
    ["withMessages", () => written.withMessages([userMessage("more"), userMessage("and more")])],
    ["withHistory", () => written.withHistory([systemMessage("summary")])],
    ["withToolExecution", () => written.withToolExecution({ toolCallId: "c1", toolName: "add", status: "failed" })],
    ["withReasoningStep", () => written.withReasoningStep({ iteration: 2, thought: "done" })],
    ["withError", () => written.withError({ at: 4, where: "tool", message: "timeout" })],
    ["withUsage", () => written.withUsage({ outputTokens: 5 })],
    ["withProviderState", () => written.withProviderState({ openai: undefined })],
    ["withMetadata", () => written.withMetadata({ at: undefined, other: 1 })],
    ["withInterrupt", () => written.withInterrupt({ ...asked, answer: { value: "yes", at: 2 } })],
    ["withArtifact", () => written.withArtifact("r1", "other text")],
    ["with", () => written.with({ agentId: "a2" })],
  ];
  test.each(changes)("%s", (_, change) => {
    const next = change();
    expect(exactForm(next.fields)).not.toBe(before);
    expect(exactForm(written.fields)).toBe(before);
  });
});

describe("what goes in cannot be changed afterwards from outside", () => {
  test("messages, their parts and bytes", () => {
    const bytes = Uint8Array.of(1);
    const parts = [
      { type: "text" as const, text: "a" },
      { type: "file" as const, mediaType: "x", data: bytes },
    ];
    const messages: Message[] = [{ role: "user", content: parts }];
    const one = AgentState.create({ messages });
    const two = AgentState.create().withMessages(messages);
    const three = AgentState.create().withHistory(messages);
    const before = [one, two, three].map((state) => exactForm(state.fields));
    parts.push({ type: "text", text: "b" });
    bytes[0] = 9;
    messages.push(userMessage("b"));
    expect([one, two, three].map((state) => exactForm(state.fields))).toEqual(before);
  });

  test("metadata, provider state, tool executions", () => {
    const metadata = { list: [1], map: new Map([["a", [1]]]) };
    const execution = { toolCallId: "c", toolName: "t", status: "started" as "started" | "failed" };
    const state = AgentState.create()
      .withMetadata(metadata)
      .withProviderState({ p: metadata })
      .withToolExecution(execution)
      .withToolExecution({ ...execution, toolCallId: "d" });
    const before = exactForm(state.fields);
    metadata.list.push(2);
    metadata.map.get("a")?.push(2);
    execution.status = "failed";
    expect(exactForm(state.fields)).toBe(before);
  });
});

test("what comes out is frozen", () => {
  const { fields } = written;
  const parts = [fields, ...Object.values(fields).filter((value) => typeof value === "object"), fields.messages[1]];
  for (const part of parts) expect(Object.isFrozen(part)).toBe(true);
  expect(() => (written.messages as Message[]).push(userMessage("x"))).toThrow(TypeError);
  expect(() => Object.assign(written.metadata, { x: 1 })).toThrow(TypeError);
});

describe("structure is shared", () => {
  test("a change keeps every field it does not touch, by identity", () => {
    const next = written.withMessage(userMessage("more")) as { readonly fields: StateFields };
    for (const name of ["toolExecutions", "reasoningSteps", "errors", "totals", "providerState", "metadata"] as const) {
      expect(next.fields[name]).toBe(written.fields[name]);
    }
    expect(next.fields.messages.slice(0, -1)).toEqual(written.messages);
    for (const [index, message] of written.messages.entries()) expect(next.fields.messages[index]).toBe(message);
  });

  test("one key of the metadata changes, the others stay the same objects", () => {
    const state = AgentState.create().withMetadata({ a: { deep: 1 }, b: { deep: 2 } });
    expect(state.withMetadata({ b: 1 }).metadata["a"]).toBe(state.metadata["a"]);
  });
});

describe("withToolExecution", () => {
  test("replaces the execution with the same call id and keeps its place", () => {
    const state = ["a", "b", "c"].reduce(
      (so, toolCallId) => so.withToolExecution({ toolCallId, toolName: "t", status: "intended" }),
      AgentState.create(),
    );
    const next = state.withToolExecution({ toolCallId: "b", toolName: "t", status: "succeeded" });
    expect(next.toolExecutions.map(({ toolCallId, status }) => `${toolCallId} ${status}`)).toEqual([
      "a intended",
      "b succeeded",
      "c intended",
    ]);
  });
});

test("withInterrupt replaces the question with the same id and keeps its place", () => {
  const state = written.withInterrupt({ ...asked, id: "i2" }).withInterrupt({ ...asked, answer: { value: 1, at: 2 } });
  expect(state.interrupts.map(({ id, answer }) => [id, answer?.value])).toEqual([
    ["i1", 1],
    ["i2", undefined],
  ]);
});

test("withArtifact keeps the others, and takes any name", () => {
  const state = written.withArtifact("__proto__", "odd").withArtifact("r2", "more");
  expect(Object.entries(state.artifacts)).toEqual([
    ["r1", "a long result"],
    ["__proto__", "odd"],
    ["r2", "more"],
  ]);
});

describe("withMetadata", () => {
  test("merges, and removes a key that is set to undefined", () => {
    const state = AgentState.create().withMetadata({ a: 1, b: 2 }).withMetadata({ a: undefined, c: 3 });
    expect(Object.entries(state.metadata)).toEqual([
      ["b", 2],
      ["c", 3],
    ]);
  });

  test("keeps a key as data though Object.prototype has a setter or a constant of that name", () => {
    const set: unknown[] = [];
    Object.defineProperties(Object.prototype, {
      seen: { set: (value) => set.push(value), configurable: true },
      fixed: { value: "shared", configurable: true },
    });
    onTestFinished(() => {
      for (const name of ["seen", "fixed"]) Reflect.deleteProperty(Object.prototype, name);
    });
    const state = AgentState.create({ metadata: { seen: 1, fixed: 2, a: 3 } });
    expect(Object.entries(state.metadata)).toEqual([
      ["seen", 1],
      ["fixed", 2],
      ["a", 3],
    ]);
    expect(set).toEqual([]);
  });

  test("treats __proto__ as the ordinary key it is", () => {
    const state = AgentState.create().withMetadata(JSON.parse('{"__proto__":{"polluted":true},"a":1}'));
    expect(Object.keys(state.metadata)).toEqual(["__proto__", "a"]);
    expect(Reflect.has({}, "polluted")).toBe(false);
    expect(Object.keys(state.withMetadata({ a: 2 }).metadata)).toEqual(["__proto__", "a"]);
  });

  const strangers: readonly [what: string, changes: object][] = [
    ["a getter", Object.defineProperty({}, "a", { get: () => 1, enumerable: true })],
    ["a Map", new Map([["a", 1]])],
    ["a Proxy", new Proxy({ a: 1 }, {})],
    [
      "an instance of a class",
      new (class Options {
        readonly a = 1;
      })(),
    ],
    ["a symbol key", { [Symbol("a")]: 1 }],
  ];
  test.each(strangers)("refuses %s instead of guessing what it means", async (_, changes) => {
    const failure = await failureOf(() => AgentState.create().withMetadata(changes as Record<string, unknown>));
    expect(failure.code).toBe("INVALID_ARGUMENT");
  });
});

test("withUsage adds to the totals", () => {
  const state = AgentState.create().withUsage({ runs: 1, inputTokens: 5 }).withUsage({ inputTokens: 7, toolCalls: 2 });
  expect(state.totals).toEqual({
    runs: 1,
    iterations: 0,
    toolCalls: 2,
    inputTokens: 12,
    outputTokens: 0,
    cachedInputTokens: 0,
  });
});

describe("fields that cannot be a state are refused", () => {
  const faults: readonly [fields: object, message: string][] = [
    [{ messages: "hello" }, "state.messages must be a list"],
    [{ toolExecutions: {} }, "state.toolExecutions must be a list"],
    [{ errors: null }, "state.errors must be a list"],
    [{ metadata: [] }, "state.metadata must be an object"],
    [{ metadata: new Map() }, "state.metadata must be an object"],
    [{ providerState: null }, "state.providerState must be an object"],
    [{ messages: [{ role: "user", content: "a" }, null] }, "state.messages[1] must be an object"],
    [
      { messages: [{ role: "human", content: "a" }] },
      "state.messages[0].role must be one of system, user, assistant, tool",
    ],
    [{ messages: [{ role: "user" }] }, "state.messages[0].content must be a string or a list of parts"],
  ];
  test.each(faults)("%j: %s", async (fields, message) => {
    expect(await failureOf(() => AgentState.create(fields as Partial<StateFields>))).toMatchObject({
      code: "INVALID_ARGUMENT",
      message,
    });
  });

  test("a message without a role is refused by withMessage", async () => {
    const failure = await failureOf(() => AgentState.create().withMessage({ content: "a" } as Message));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(failure.message).toContain("role");
  });
});
