/**
 * What a provider's prompt cache can do for a long conversation, by how the
 * conversation is shown. A simulation: real agents, prompts as they are sent,
 * tokens by estimate; a token counts as cached where the whole prompt up to it is
 * that of the call before, and then costs a tenth; a new one costs a quarter more.
 */
import type { ConversationPort, MemoryPort } from "../src/agent/ports.ts";
import { InMemoryStore } from "../src/backends/memory/store.ts";
import { compactingConversation } from "../src/conversation/compacting.ts";
import { windowConversation } from "../src/conversation/window.ts";
import { heuristicExtractor } from "../src/memory/heuristic-extractor.ts";
import type { Message } from "../src/state/message.ts";
import { LLMMemoryManager } from "../src/wiring/llm-memory-manager.ts";
import { longTalk } from "../test/conversation/long-talk.ts";
import { type CacheReport, cacheReport } from "../test/conversation/prompt-cache.ts";
import { renderTable } from "./table.ts";
import type { Verdict } from "./targets.ts";

const TURNS = 400;
const MAX_TOKENS = 6000;
const SYSTEM_PROMPT = "You plan trips. Answer with places that exist, and say how to get there by train. ".repeat(40);
const overlay = (): ConversationPort =>
  compactingConversation({ maxTokens: MAX_TOKENS, summarize: async () => "The user asks for places. ".repeat(90) });
const memory = (): MemoryPort => new LLMMemoryManager({ store: new InMemoryStore(), extract: heuristicExtractor() });

/** The habits of others, for comparison. */
const sliding: ConversationPort = { shape: async (messages) => messages.slice(-100) };
const recalledFirst = (port: MemoryPort): ConversationPort => {
  const shown = overlay();
  return {
    shape: async (messages, context) => {
      const notes = await port.recall({ ...context, subject: "u", metadata: {} });
      const shaped = (await shown.shape(messages, context)) as { messages: readonly Message[]; overlay?: unknown };
      return { ...shaped, messages: [...notes, ...shaped.messages] };
    },
  };
};

const STRATEGIES: Readonly<Record<string, () => { conversation?: ConversationPort; memory?: MemoryPort }>> = {
  "the whole log": () => ({}),
  "the last 100 messages, sliding": () => ({ conversation: sliding }),
  "window with two thresholds": () => ({ conversation: windowConversation({ maxTokens: MAX_TOKENS }) }),
  "compaction (ours)": () => ({ conversation: overlay() }),
  "compaction and memory (ours)": () => ({ conversation: overlay(), memory: memory() }),
  "compaction, memory before the history": () => {
    const port = memory();
    return {
      conversation: recalledFirst(port),
      memory: { recall: async () => [], remember: (context) => port.remember(context) },
    };
  },
};

export async function benchPromptCache(): Promise<{
  reports: Readonly<Record<string, CacheReport>>;
  verdicts: readonly Verdict[];
}> {
  const reports: Record<string, CacheReport> = {};
  for (const [name, parts] of Object.entries(STRATEGIES)) {
    reports[name] = cacheReport(await longTalk(TURNS, { ...parts(), systemPrompt: SYSTEM_PROMPT }));
  }
  console.log(`\nPrompt caches: ${TURNS} turns, at most ${MAX_TOKENS} tokens\n`);
  const rows = Object.entries(reports).map(([name, { meanPrompt, cacheable, cost }]) => [
    name,
    meanPrompt.toFixed(0),
    `${(cacheable * 100).toFixed(1)} %`,
    cost.toFixed(0),
  ]);
  console.log(renderTable(["shown", "mean prompt", "cacheable", "cost of a call"], rows));
  const { cacheable } = reports["compaction and memory (ours)"]!;
  const target = "with memories and compaction on, 90 % of the prompt is cacheable";
  return {
    reports,
    verdicts: [
      { target, limit: 0.9, measured: cacheable, shown: `${(cacheable * 100).toFixed(1)} %`, met: cacheable >= 0.9 },
    ],
  };
}
