/** What an agent remembers of people across threads. (`holdfast/memory` is the backend that keeps threads in this process.) */
export {
  ConversationIndex,
  type ConversationSearchOptions,
  type FoundLine,
  type SpokenLine,
  spokenLines,
} from "../memory/conversation-index.ts";
export type { MemoriesOf, MemoryDecision } from "../memory/core-memory.ts";
export type { Explanation } from "../memory/explain.ts";
export type { ExtractableMessage, ExtractFunction, Extractor, ExtractRequest, KnownFact } from "../memory/extractor.ts";
export { heuristicExtractor } from "../memory/heuristic-extractor.ts";
export type { Fact, Memory, MemoryType, PastValue, PendingMemory, Provenance } from "../memory/memory.ts";
export type { MemoryShelf } from "../memory/memory-shelf.ts";
export type { Outcome as MemoryOutcome } from "../memory/merge-fact.ts";
export { LLMMemoryManager, type LLMMemoryManagerOptions } from "../wiring/llm-memory-manager.ts";
