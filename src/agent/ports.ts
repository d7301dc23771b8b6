import type { Model, ModelRequest, ModelTool, ModelUsage } from "../models/model.ts";
import type { AgentState } from "../state/agent-state.ts";
import type { Message } from "../state/message.ts";
import type { Subjects } from "../state/people/subjects.ts";

/**
 * Long-term memory. What it recalls is shown to the model and never saved into
 * the thread. If it fails, that is a warning: it never costs a turn.
 */
export interface MemoryPort {
  /**
   * Once for each message of the user's. The result stands right before that
   * message through all steps of the run, so that the long beginning of the
   * prompt stays what a provider has in its cache. A system message is the
   * exception: it joins the one at the start.
   */
  recall(context: MemoryContext): Promise<readonly Message[]>;
  /** After the answer is saved. */
  remember(context: RememberContext): Promise<void>;
}

export interface MemoryContext {
  readonly state: AgentState;
  /** Who the run is about: what is remembered belongs to them, or to the thread if no person is named. */
  readonly subject: Subjects | undefined;
  readonly threadId: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

export interface RememberContext extends MemoryContext {
  /** The checkpoint of the save that holds the answer. */
  readonly checkpointId: string | undefined;
  /** What `recall` gave in this run. */
  readonly recalled: readonly Message[];
}

/** Which part of the conversation a model is shown. The stored conversation stays whole. */
export interface ConversationPort {
  /** Before each model call. */
  shape(messages: readonly Message[], context: ShapeContext): Promise<readonly Message[] | ShapedConversation>;
  /** After each model call: what was sent, and what the model counted. May give an overlay to save. */
  observe?(call: ObservedCall): unknown;
}

export interface ShapeContext {
  readonly threadId: string | undefined;
  readonly state: AgentState;
  /** What was returned as `overlay` last, as it was saved with the thread: forked and restored with it. */
  readonly overlay: unknown;
  /** What is sent besides the conversation. */
  readonly system: readonly Message[];
  readonly recalled: readonly Message[];
  readonly tools: readonly ModelTool[];
  /** The agent's model, for summaries. */
  readonly model: Model;
  /** How many tokens the model takes, where it says so. */
  readonly contextWindow: number | undefined;
  /** The usage of the last call in this run. */
  readonly usage: ModelUsage | undefined;
  readonly signal: AbortSignal;
  /** For trouble that the turn survives. */
  readonly warn: (error: unknown) => void;
}

export interface ShapedConversation {
  readonly messages: readonly Message[];
  /** Kept in the thread's state, and saved with the next save. Anything that a state can hold. */
  readonly overlay?: unknown;
  /** What shaping itself cost. */
  readonly usage?: ModelUsage;
}

export interface ObservedCall {
  readonly request: ModelRequest;
  readonly usage: ModelUsage;
  readonly overlay: unknown;
}

/** What a run sees of a session: working state for its tools, and a way to report that the task is done. */
export interface SessionPort {
  /** Whose session it is: a run that names no other person is about this one. */
  readonly subject?: string | undefined;
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
