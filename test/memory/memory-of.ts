import { InMemoryStore } from "../../src/backends/memory/store.ts";
import type { MemoryDecision } from "../../src/memory/core-memory.ts";
import { heuristicExtractor } from "../../src/memory/heuristic-extractor.ts";
import type { Fact } from "../../src/memory/memory.ts";
import type { MemoryShelf } from "../../src/memory/memory-shelf.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import type { Message } from "../../src/state/message.ts";
import { LLMMemoryManager, type LLMMemoryManagerOptions } from "../../src/wiring/llm-memory-manager.ts";

export const DAY = 86_400_000;
export const whose: { readonly subject: string } = { subject: "u" };
export const signal: AbortSignal = new AbortController().signal;
export const home = (city: string, message = 0, quote: string = city): Fact => ({
  type: "user",
  subject: "user",
  attribute: "home city",
  value: city,
  text: `The user lives in ${city}.`,
  quote,
  message,
});

/** A memory of a user "u", by the heuristic extractor unless the test brings another, and a way to let it hear messages. */
export function memoryOf(options: Partial<LLMMemoryManagerOptions> = {}): {
  readonly memory: LLMMemoryManager;
  readonly decisions: readonly MemoryDecision[];
  readonly store: InMemoryStore;
  readonly shelf: MemoryShelf;
  readonly hear: (messages: readonly Message[], threadId?: string, recalled?: readonly Message[]) => Promise<void>;
} {
  const decisions: MemoryDecision[] = [];
  const store = new InMemoryStore();
  const extract = options.model === undefined && { extract: heuristicExtractor() };
  const memory = new LLMMemoryManager({ store, ...extract, onDecision: (one) => decisions.push(one), ...options });
  const hear = (messages: readonly Message[], threadId = "t", recalled: readonly Message[] = []) =>
    memory.remember({
      state: AgentState.create({ messages, metadata: whose }),
      ...whose,
      threadId,
      metadata: {},
      signal,
      checkpointId: undefined,
      recalled,
    });
  return { memory, decisions, store, hear, shelf: memory.of(whose) };
}
