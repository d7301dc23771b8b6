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

/** What a run sees of a session: working state for its tools, and somebody to tell that the task is done. */
export interface SessionPort {
  getWorking<Value = unknown>(key: string, otherwise?: Value): Value | undefined;
  setWorking(key: string, value: unknown): void;
  /** After the answer is saved. A failure here is a warning and loses nothing. */
  finished(run: {
    readonly threadId: string | undefined;
    readonly checkpointId: string | undefined;
    readonly stopReason: string;
  }): Promise<void>;
}

export const NO_MEMORY: MemoryPort = { recall: async () => [], remember: async () => undefined };
export const WHOLE_CONVERSATION: ConversationPort = { shape: async (messages) => messages };
