import { describe, expect, test } from "vitest";
import { agentOf } from "../../test/agent/agent-of.ts";
import { MemoryStore } from "../../test/agent/stored-thread.ts";
import { shapeContext } from "../../test/conversation/shape-context.ts";
import { chatting, LONG, overlayOf, said, talk } from "../../test/conversation/talk.ts";
import { AgentState } from "../state/agent-state.ts";
import { assistantMessage, type Message, textOf, userMessage } from "../state/message.ts";
import type { ScriptStep } from "../testing/models/scripted-model.ts";
import { compactingConversation } from "./compacting.ts";
import type { Overlay } from "./overlay.ts";

describe("the summary of a conversation", () => {
  const small = { maxTokens: 2000 };

  test("asks for the summary once and uses it in every later process until the prompt is full again", async () => {
    const model = chatting(["First.", "Second."]);
    const { store } = await talk(14, { model, conversation: compactingConversation(small) });
    expect(model.summaries).toHaveLength(1);
    const before = await overlayOf(store);
    await talk(10, { model, store, conversation: compactingConversation(small) });
    expect(model.summaries).toHaveLength(2);
    expect(said(model.summaries[1])).toContain("The record so far:\nFirst.");
    expect((await overlayOf(store)).covers).toBeGreaterThan(before.covers);
  });

  test("counts what the summary cost in the run's usage and in the thread's totals", async () => {
    const model = chatting([{ text: "Brief.", usage: { inputTokens: 900, outputTokens: 20 } }]);
    const { store } = await talk(14, { model, conversation: compactingConversation(small) });
    expect((await store.state()).totals).toMatchObject({ inputTokens: 900, outputTokens: 20 });
  });

  test.each<[string, ScriptStep]>([
    ["fails", new Error("overloaded")],
    ["is empty", " "],
    ["breaks off", { text: "Goal: fi", incomplete: true }],
    ["is far too long", LONG.repeat(40)],
  ])("continues, with a warning, when the summary %s; the next one covers what it missed", async (_, failed) => {
    const model = chatting([failed, "All of it."]);
    const { store, warnings } = await talk(14, { model, conversation: compactingConversation(small) });
    expect(warnings).toHaveLength(1);
    const left = await overlayOf(store);
    expect(left).toMatchObject({ summary: "", summarizes: 0 });
    expect(left.covers).toBeGreaterThan(0);
    await talk(10, { model, store, conversation: compactingConversation(small) });
    expect(said(model.summaries[1])).toContain("Question 1.");
    expect(await overlayOf(store)).toMatchObject({ summary: "All of it." });
  });

  test("leaves out of the summary what could not be summarised three times, and continues after it", async () => {
    const asked: string[] = [];
    const conversation = compactingConversation({
      ...small,
      summarize: async ({ messages }) => {
        asked.push(textOf(messages[0] as Message).slice(0, 12));
        if (messages.some((one) => textOf(one).startsWith("Question 1."))) throw new Error("refused");
        return "What came later.";
      },
    });
    const { store, warnings } = await talk(60, { model: chatting([]), conversation });
    expect(asked.slice(0, 3)).toEqual(["Question 1. ", "Question 1. ", "Question 1. "]);
    expect(warnings).toHaveLength(3);
    expect(await overlayOf(store)).toMatchObject({ summary: "What came later.", failures: 0 });
  });

  test("reads a long thread that was never summarised part by part, and keeps what was written before a part failed", async () => {
    const messages = Array.from({ length: 120 }, (_, index) => userMessage(`Question ${index + 1}. ${LONG}`));
    const state = AgentState.create({ messages: messages.flatMap((one) => [one, assistantMessage(LONG)]) });
    const asked: { previous: string; size: number }[] = [];
    const warnings: unknown[] = [];
    const conversation = compactingConversation({
      ...small,
      summarize: async ({ previous, messages: part }) => {
        asked.push({ previous, size: part.length });
        if (asked.length === 4) throw new Error("overloaded");
        return `Part ${asked.length}.`;
      },
    });
    const shape = async (overlay: unknown) =>
      (await conversation.shape(
        state.messages,
        shapeContext({ state, overlay, warn: (one) => warnings.push(one) }),
      )) as {
        overlay: Overlay;
      };
    const { overlay } = await shape(undefined);
    expect(asked.map(({ previous }) => previous)).toEqual(["", "Part 1.", "Part 2.", "Part 3."]);
    expect(Math.max(...asked.map(({ size }) => size))).toBeLessThan(30);
    expect(warnings).toHaveLength(1);
    expect(overlay.summary).toBe("Part 3.");
    expect(overlay.summarizes).toBeLessThan(overlay.covers);
  });

  test("makes the summary from the log again after some compactions, not for ever from itself", async () => {
    const seen: { previous: string; first: string }[] = [];
    const conversation = compactingConversation({
      ...small,
      maxTokens: 3000,
      compactTo: 0.6,
      rebuildEvery: 2,
      summarize: async ({ previous, messages }) => {
        seen.push({ previous, first: textOf(messages[0] as Message).slice(0, 11) });
        return `Record ${seen.length}.`;
      },
    });
    await talk(44, { model: chatting([]), conversation });
    expect(seen.length).toBeGreaterThanOrEqual(2);
    expect(seen[0]).toEqual({ previous: "", first: "Question 1." });
    expect(seen[1]).toEqual({ previous: "", first: "Question 1." });
  });

  test("is of each thread its own: one object serves two threads and mixes nothing", async () => {
    const previous: string[] = [];
    const conversation = compactingConversation({
      ...small,
      summarize: async (request) => {
        previous.push(request.previous);
        return `Record of ${/(Ann|Bob)/.exec(textOf(request.messages[0] as Message))?.[1]}.`;
      },
    });
    const store = new MemoryStore();
    for (const who of ["Ann", "Bob"]) {
      const agent = agentOf({ model: chatting([]), checkpointer: store.open(), conversation });
      for (let turn = 0; turn < 14; turn++) await agent.run(`${who} asks. ${LONG}`, { threadId: who });
    }
    expect(previous).toEqual(["", ""]);
    expect((await overlayOf(store, "Ann")).summary).toBe("Record of Ann.");
    expect((await overlayOf(store, "Bob")).summary).toBe("Record of Bob.");
  });
});
