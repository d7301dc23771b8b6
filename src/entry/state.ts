/** What is saved: the state, its messages, and secrets that stay out of it. */
export { ERROR_CODES, type ErrorCode, type ErrorContext, StateError } from "../errors.ts";
export { AgentState } from "../state/agent-state.ts";
export type { StateDiff } from "../state/diff.ts";
export type {
  Interrupt,
  ReasoningStep,
  RecordedError,
  StateFields,
  StateSchema,
  ThreadTotals,
  ToolExecution,
} from "../state/fields.ts";
export {
  type AssistantMessage,
  assistantMessage,
  type ContentPart,
  type FilePart,
  type Message,
  type ProviderMetadata,
  type ReasoningPart,
  type SystemMessage,
  systemMessage,
  type TextPart,
  type ToolCall,
  type ToolMessage,
  textOf,
  toolMessage,
  type UnusualFinish,
  type UserMessage,
  userMessage,
} from "../state/message.ts";
export {
  isSecretRef,
  type Redactor,
  redactSecrets,
  refuseSecrets,
  resolveSecret,
  type SecretRef,
  type SecretSource,
  secretRef,
} from "../state/secrets.ts";
export type { OpenCallsPolicy, Standing } from "../state/tool-calls.ts";
export type { JsonValue } from "../state/values/codec.ts";
