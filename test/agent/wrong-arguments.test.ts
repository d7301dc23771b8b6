import { describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { repairHistory } from "../../src/entry/agent.ts";
import { toUIMessages } from "../../src/entry/ai-sdk.ts";
import { anthropicMemory } from "../../src/entry/anthropic.ts";
import { ConversationIndex, LLMMemoryManager } from "../../src/entry/long-term-memory.ts";
import { fallbackModel } from "../../src/entry/models.ts";
import { ruleModel } from "../../src/entry/testing.ts";
import { AgentState, pendingIn, userMessage } from "../../src/index.ts";

const nothing = undefined as never;

describe("a function that is given something else says what it takes", () => {
  const state = AgentState.create().withMessage(userMessage("hello"));
  const wrong: readonly [how: string, call: () => unknown, says: RegExp][] = [
    ["pendingIn(no thread)", () => pendingIn(nothing), /takes a state; load\(\) gives undefined/],
    ["toUIMessages(no thread)", () => toUIMessages(nothing), /takes a state; load\(\) gives undefined/],
    ["toUIMessages(its messages)", () => toUIMessages(state.messages as never), /takes a state/],
    [
      "repairHistory(a state)",
      () => repairHistory(state as never),
      /takes a list of messages, such as state\.messages/,
    ],
    ["fallbackModel(names)", () => fallbackModel("openai:gpt-5" as never), /takes a list of models/],
    ["fallbackModel(no models)", () => fallbackModel([{} as never]), /takes a list of models/],
    ["anthropicMemory()", () => anthropicMemory(nothing), /takes its options as an object, not undefined/],
    ["new ConversationIndex()", () => new ConversationIndex(nothing), /store must be a store/],
  ];
  test.each(wrong)("%s", (_how, call, says) => {
    expect(call).toThrow(says);
  });
});

describe("a memory that is asked without saying of whom refuses: a name in the wrong place would reach what is shared", () => {
  const memory = new LLMMemoryManager({ store: new InMemoryStore(), model: ruleModel([]) });
  const wrong: readonly [how: string, call: () => unknown, says: RegExp][] = [
    [
      "of(a name)",
      () => memory.of("alice" as never),
      /takes whose memories are meant, such as \{ subject: "user-42" \}, not a string/,
    ],
    ["of(null)", () => memory.of(null as never), /takes whose memories are meant.*not null/],
    [
      "retrieve(words, { userId })",
      () => memory.retrieve("tea", { userId: "alice" } as never),
      /no option "userId"; it takes subject/,
    ],
    ["retrieve(words, a name)", () => memory.retrieve("tea", "alice" as never), /takes its options as an object/],
    ["explain(id, { userId })", () => memory.explain("m1", { userId: "alice" } as never), /no option "userId"/],
    ["recall(words)", () => memory.recall("tea" as never), /takes what an agent hands it.*retrieve\("words"/],
    ["remember(words)", () => memory.remember("I like tea" as never), /takes what an agent hands it/],
  ];
  test.each(wrong)("%s", async (_how, call, says) => {
    await expect(async () => call()).rejects.toThrow(says);
  });
});
