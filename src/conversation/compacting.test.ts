import { describe, expect, test } from "vitest";
import { agentOf } from "../../test/agent/agent-of.ts";
import { MemoryStore } from "../../test/agent/stored-thread.ts";
import { shapeContext } from "../../test/conversation/shape-context.ts";
import { chatting, LONG, overlayOf, said, talk } from "../../test/conversation/talk.ts";
import { tool } from "../agent/tool-call/tool.ts";
import type { Model, ModelRequest } from "../models/model.ts";
import { AgentState } from "../state/agent-state.ts";
import { type Message, textOf, userMessage } from "../state/message.ts";
import { type ScriptStep, scriptedModel } from "../testing/models/scripted-model.ts";
import { compactingConversation } from "./compacting.ts";
import { windowConversation } from "./window.ts";

describe("a conversation that is compacted", () => {
  const small = { maxTokens: 2000 };

  test("shows a summary and the newest part, and keeps every message in the log", async () => {
    const model = chatting(["Goal: find the parcel."]);
    const { store } = await talk(14, { model, conversation: compactingConversation(small) });
    expect((await store.state()).messages).toHaveLength(28);
    const last = model.prompts.at(-1);
    expect(said(last)).toContain("Goal: find the parcel.");
    expect(said(last)).not.toContain("Question 1.");
    expect(said(last)).toContain("Question 14.");
  });

  test("shows what the user asked to hold throughout in the user's own words, and messages that are pinned", async () => {
    const model = chatting(["Brief."]);
    const store = new MemoryStore();
    const conversation = compactingConversation(small);
    const agent = agentOf({ model, checkpointer: store.open(), conversation });
    await agent.run("Hello. From now on, quote prices in francs. Is that fine?", { threadId: "t" });
    await agent.run(userMessage("The account is CH-77.", { metadata: { pinned: true } }), { threadId: "t" });
    await talk(14, { model, store, conversation });
    const block = textOf(model.prompts.at(-1)?.messages[0] as Message);
    expect(block).toContain('- "From now on, quote prices in francs."\n- "The account is CH-77."');
    expect(block).not.toContain("Is that fine?");
  });

  test("keeps the system prompt and every system message of the thread, at the start", async () => {
    const model = chatting(["Brief."]);
    const store = new MemoryStore();
    const system = ["Rule one.", "Rule two."].map((content): Message => ({ role: "system", content }));
    await store.open().save(AgentState.create({ messages: system }), "t");
    await talk(14, { model, store, conversation: compactingConversation(small), systemPrompt: "Be brief." });
    const [first, block] = model.prompts.at(-1)?.messages.map(textOf) ?? [];
    expect(first).toBe("Be brief.\n\nRule one.\n\nRule two.");
    expect(block).toContain("Brief.");
  });

  test("leaves out long results that the model has used before it leaves out anything that was said", async () => {
    const look = tool({ name: "look", effect: "pure", execute: () => LONG.repeat(10) });
    const step: ScriptStep = { toolCalls: [{ name: "look" }] };
    const model = scriptedModel([...Array.from({ length: 12 }, () => step), "Done."]);
    const store = new MemoryStore();
    const conversation = compactingConversation({ maxTokens: 6000 });
    const options = { tools: [look], toolLoopThreshold: 100, conversation };
    await agentOf({ model, checkpointer: store.open(), ...options }).run("Look twelve times.", { threadId: "t" });
    const results =
      model.requests
        .at(-1)
        ?.messages.filter(({ role }) => role === "tool")
        .map(textOf) ?? [];
    expect(results).toHaveLength(12);
    expect(results[0]).toContain("is left out here to save space");
    expect(results.at(-1)).toBe(LONG.repeat(10));
    expect(await overlayOf(store)).toMatchObject({ covers: 0 });
  });

  test("tells how to read a result again that is kept beside the conversation", async () => {
    const read = tool({ name: "read", effect: "pure", execute: () => LONG.repeat(40) });
    const step: ScriptStep = { toolCalls: [{ id: "big", name: "read" }] };
    const other: ScriptStep = { toolCalls: [{ name: "read" }] };
    const model = scriptedModel([step, other, other, other, other, "Done."]);
    const options = { tools: [read], toolLoopThreshold: 100, maxToolResultChars: 8000 };
    await agentOf({ model, conversation: compactingConversation({ maxTokens: 2500 }), ...options }).run("Read.");
    const [first] = model.requests.at(-1)?.messages.filter(({ role }) => role === "tool") ?? [];
    expect(textOf(first as Message)).toContain('Read it again with read_result({"name": "big", "from": 0}).');
  });

  test("cuts one huge turn between its steps, and keeps showing the message that began it", async () => {
    const note = tool({ name: "note", effect: "pure", execute: () => "ok" });
    const step: ScriptStep = { toolCalls: [{ name: "note", arguments: { text: LONG.repeat(3) } }] };
    const model = scriptedModel([...Array.from({ length: 30 }, () => step), "Done."]);
    const options = { tools: [note], toolLoopThreshold: 100, maxIterations: 100 };
    const conversation = compactingConversation({ maxTokens: 3000, summarize: async () => "Notes were taken." });
    await agentOf({ model, conversation, ...options }).run("Take thirty notes.");
    const { messages } = model.requests.at(-1) as ModelRequest;
    expect(messages.length).toBeLessThan(30);
    expect(messages.slice(0, 2).map(textOf)).toEqual([
      expect.stringContaining("Notes were taken."),
      "Take thirty notes.",
    ]);
  });

  test("does not compact again and again what cannot become smaller", async () => {
    let summaries = 0;
    const conversation = compactingConversation({ maxTokens: 300, summarize: async () => `Record ${++summaries}.` });
    const model = scriptedModel(Array.from({ length: 6 }, () => "Yes."));
    const store = new MemoryStore();
    const agent = agentOf({ model, checkpointer: store.open(), conversation, systemPrompt: LONG.repeat(10) });
    for (let turn = 0; turn < 6; turn++) await agent.run("And?", { threadId: "t" });
    expect(summaries).toBeLessThanOrEqual(2);
  });

  test("goes with a fork, and is not used for a history that was edited", async () => {
    const { store } = await talk(14, { model: chatting(["Brief."]), conversation: compactingConversation(small) });
    const checkpointer = store.open();
    await checkpointer.fork("t", "copy");
    const forked = await store.state("copy");
    expect(forked.overlay).toEqual((await store.state()).overlay);
    const edited = forked.withHistory([userMessage("No, wait."), ...forked.messages.slice(1)]);
    const { messages } = (await compactingConversation({ maxTokens: 50_000 }).shape(
      edited.messages,
      shapeContext({ state: edited, overlay: edited.overlay }),
    )) as { messages: readonly Message[] };
    expect(messages).toEqual(edited.messages);
  });

  test("learns from what the model counts, also in conversations of one call a run", async () => {
    const counting: Model = {
      id: "counting",
      contextWindow: 2000,
      stream: (request) =>
        scriptedModel([{ text: LONG, usage: { inputTokens: Math.round(said(request).length / 2) } }]).stream(request),
    };
    const { store } = await talk(9, { model: counting, conversation: compactingConversation({ summarize: false }) });
    const { ratio, covers } = await overlayOf(store);
    expect(ratio).toBeGreaterThan(1.8);
    // By the estimate alone, nine turns of 125 tokens would fit into 0.8 x 2000.
    expect(covers).toBeGreaterThan(0);
  });

  test("what another port left in the thread is not taken for an overlay", async () => {
    const state = AgentState.create({ messages: [userMessage("hi")], overlay: { mine: true } });
    const shaped = await compactingConversation().shape(
      state.messages,
      shapeContext({ state, overlay: state.overlay }),
    );
    expect(shaped).toEqual({ messages: state.messages });
  });
});

describe("a window", () => {
  test("of messages grows to its limit and is then cut to half of it", async () => {
    const model = chatting([]);
    const { store } = await talk(12, { model, conversation: windowConversation({ maxMessages: 8 }) });
    expect((await store.state()).messages).toHaveLength(24);
    const shown = model.prompts.map(({ messages }) => messages.filter((one) => one.metadata === undefined).length);
    expect(Math.max(...shown)).toBeLessThanOrEqual(8);
    expect(shown).toEqual([1, 3, 5, 7, 3, 5, 7, 3, 5, 7, 3, 5]);
  });

  test("of tokens forgets without a summary", async () => {
    const model = chatting([]);
    await talk(14, { model, conversation: windowConversation({ maxTokens: 2000 }) });
    expect(model.summaries).toHaveLength(0);
    expect(said(model.prompts.at(-1))).toContain("messages of this conversation are not shown.]");
  });
});

test.each([
  ["an option that does not exist", () => compactingConversation({ maxToken: 5 } as object), /maxTokens/],
  ["thresholds in the wrong order", () => compactingConversation({ compactAt: 0.3 }), /compactTo < compactAt/],
  ["a limit of nothing", () => compactingConversation({ maxTokens: 0 }), /from 1 on/],
  [
    "a summary by an unknown name",
    () => compactingConversation({ summarize: "gpt" as "model" }),
    /"model", a function/,
  ],
  ["a window without a size", () => windowConversation({}), /maxMessages or maxTokens/],
  ["a window of one message", () => windowConversation({ maxMessages: 1 }), /from 2 on/],
])("refuses %s", (_, make, message) => {
  expect(make).toThrow(message);
});
