import type { AgentState } from "../state/agent-state.ts";
import type { Message } from "../state/message.ts";

/** Long-term memory. What it recalls is shown to the model for one call and never saved into the thread. */
export interface MemoryPort {
  recall(context: MemoryContext): Promise<readonly Message[]>;
  /** After the answer is saved. A failure here is a warning and loses nothing. */
  remember(context: MemoryContext): Promise<void>;
}

export interface MemoryContext {
  readonly state: AgentState;
  readonly threadId: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

/** Which part of the conversation a model is shown. The stored conversation stays whole. */
export interface ConversationPort {
  shape(messages: readonly Message[], context: { readonly signal: AbortSignal }): Promise<readonly Message[]>;
}

export const NO_MEMORY: MemoryPort = { recall: async () => [], remember: async () => undefined };
export const WHOLE_CONVERSATION: ConversationPort = { shape: async (messages) => messages };
