export type { AgentThread } from "./agent/agent-thread.ts";
export type { RunEvent, RunResult, StopReason } from "./agent/events.ts";
export type { Guards } from "./agent/guards.ts";
export type { AgentHooks } from "./agent/hooks.ts";
export type { ConversationPort, MemoryPort } from "./agent/ports.ts";
export type { RunLimits } from "./agent/run/limits.ts";
export { RunError } from "./agent/run/run-error.ts";
export type { Run } from "./agent/run.ts";
export type { AnswerOptions, RunOptions } from "./agent/run-options.ts";
export { type AnswerPendingOptions, answerPending } from "./agent/tool-call/answering.ts";
export type { Approval } from "./agent/tool-call/interrupts.ts";
export {
  type Tool,
  type ToolContext,
  type ToolEffect,
  type ToolOptions,
  tool,
  type VerifiedOutcome,
} from "./agent/tool-call/tool.ts";
export { OutcomeUnknown, toolContent } from "./agent/tool-call/tool-result.ts";
export { openCheckpointer, openSaver } from "./backends/open.ts";
export { openStore } from "./backends/open-store.ts";
export {
  BaseCheckpointer,
  type CheckpointRef,
  type CheckpointSummary,
  type ForkOptions,
  type ListThreadsOptions,
  type PageOptions,
  type SaveOptions,
  type ThreadSummary,
  uncheckedHead,
  type VacuumOptions,
  type VacuumReport,
} from "./checkpoint/base-checkpointer.ts";
export { type CapabilityFlag, type CheckpointerCapabilities, capabilities } from "./checkpoint/capabilities.ts";
export { Checkpointer } from "./checkpoint/checkpointer.ts";
export type { CheckpointerOptions } from "./checkpoint/context.ts";
export { StorageBackendAdapter } from "./checkpoint/dict/adapter.ts";
export type { DictStorage } from "./checkpoint/dict/dict-storage.ts";
export type { Lease, LeaseOptions } from "./checkpoint/lease/lease.ts";
export { refOf as checkpointRef } from "./checkpoint/options.ts";
export { type CompactingOptions, compactingConversation } from "./conversation/compacting.ts";
export { type WindowOptions, windowConversation } from "./conversation/window.ts";
export type { Page } from "./driver/page.ts";
export { ERROR_CODES, type ErrorCode, type ErrorContext, StateError } from "./errors.ts";
export type { Model } from "./models/model.ts";
export { ModelError } from "./models/model-error.ts";
export type { SessionCheckpoint } from "./session/agent-session.ts";
export { AgentState } from "./state/agent-state.ts";
export type { StateDiff } from "./state/diff.ts";
export type { Interrupt, StateFields, StateSchema, ToolExecution } from "./state/fields.ts";
export {
  type AssistantMessage,
  assistantMessage,
  type ContentPart,
  type Message,
  type SystemMessage,
  systemMessage,
  type ToolCall,
  type ToolMessage,
  textOf,
  toolMessage,
  type UserMessage,
  userMessage,
} from "./state/message.ts";
export { type PendingCall, pendingIn } from "./state/pending.ts";
export {
  isSecretRef,
  redactSecrets,
  refuseSecrets,
  resolveSecret,
  type SecretRef,
  secretRef,
} from "./state/secrets.ts";
export type { JsonValue } from "./state/values/codec.ts";
export { BaseStore } from "./store/base-store.ts";
export { Agent, type AgentOptions } from "./wiring/agent.ts";
export { AgentSession, type AgentSessionOptions } from "./wiring/agent-session.ts";
export { UserStore, type UserStoreOptions } from "./wiring/user-store.ts";
