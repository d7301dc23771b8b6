/** A session of OpenAI's Agents SDK, on a checkpointer. */
export {
  type HistoryTransaction,
  type OpenAIAgentsSession,
  openAIAgentsSession,
} from "../adapters/openai-agents/session.ts";
