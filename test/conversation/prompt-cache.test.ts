import { expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { compactingConversation } from "../../src/conversation/compacting.ts";
import { heuristicExtractor } from "../../src/memory/heuristic-extractor.ts";
import { textOf } from "../../src/state/message.ts";
import { LLMMemoryManager } from "../../src/wiring/llm-memory-manager.ts";
import { longTalk } from "./long-talk.ts";
import { cacheReport } from "./prompt-cache.ts";

const TURNS = 400;
const SYSTEM_PROMPT = "You plan trips. Answer with places that exist, and say how to get there by train. ".repeat(40);
const conversation = () =>
  compactingConversation({
    maxTokens: 6000,
    summarize: async () => "The user asks for places in Switzerland. ".repeat(60),
  });
const memory = () => new LLMMemoryManager({ store: new InMemoryStore(), extract: heuristicExtractor() });

test("with memories and compaction on, at least 90 % of all prompt tokens can come from a provider's cache", async () => {
  const prompts = await longTalk(TURNS, {
    conversation: conversation(),
    memory: memory(),
    systemPrompt: SYSTEM_PROMPT,
  });
  const report = cacheReport(prompts);
  expect(report.cacheable).toBeGreaterThanOrEqual(0.9);
  const recalled = prompts.filter(({ messages }) =>
    messages.some((one) => textOf(one).startsWith("[Notes from earlier")),
  );
  expect(recalled.length).toBeGreaterThan(TURNS * 0.9);
  const summaries = new Set(
    prompts.map(({ messages }) => textOf(messages[1]!)).filter((text) => text.startsWith("[The first")),
  );
  expect(summaries.size).toBeGreaterThan(5);
});

test("a window that slides with every call would leave less than half of them", async () => {
  const sliding = { shape: async (messages: readonly never[]) => messages.slice(-60) };
  const report = cacheReport(await longTalk(TURNS / 2, { conversation: sliding, systemPrompt: SYSTEM_PROMPT }));
  expect(report.cacheable).toBeLessThan(0.5);
});
