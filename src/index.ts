export {
  type AiSdkMemoryTools,
  type AiSdkTool,
  aiSdkMemoryTools,
  type RememberInput,
} from "./adapters/ai-sdk/memory-tools.ts";
export {
  type AnthropicMemory,
  type AnthropicMemoryOptions,
  anthropicMemory,
  type MemoryCommand,
} from "./adapters/anthropic/memory-files.ts";
export {
  type HistoryTransaction,
  type OpenAIAgentsSession,
  openAIAgentsSession,
} from "./adapters/openai-agents/session.ts";
export type { AgentThread, StateChange } from "./agent/agent-thread.ts";
export { type AiSdkToolLike, type AiSdkToolsOptions, aiSdkTools } from "./agent/ai-sdk-tools.ts";
export type { CompleteOptions } from "./agent/completing.ts";
export type { DrainOptions } from "./agent/cut-off.ts";
export type { RunEvent, RunResult, StopReason } from "./agent/events.ts";
export type { FollowOptions } from "./agent/following.ts";
export type { Guards, Verdict } from "./agent/guards.ts";
export type { AgentHooks } from "./agent/hooks.ts";
export { type Approval, pendingInterrupts } from "./agent/interrupts.ts";
export type { Later, LaterOptions, PendingCall } from "./agent/later.ts";
export type { RunLimits } from "./agent/limits.ts";
export { type McpClient, type McpTool, type McpToolsOptions, mcpTools } from "./agent/mcp-tools.ts";
export type { ModelSettings, ToolChoice } from "./agent/model-settings.ts";
export type { WhenBusy } from "./agent/only-writer.ts";
export type {
  ConversationPort,
  MemoryContext,
  MemoryPort,
  ObservedCall,
  RememberContext,
  SessionPort,
  ShapeContext,
  ShapedConversation,
} from "./agent/ports.ts";
export type { PrepareStep, Step, StepChanges } from "./agent/prepare-step.ts";
export type { ModelPrice, PriceTable } from "./agent/prices.ts";
export type { RecoverOptions, RecoverReport } from "./agent/recovering.ts";
export { repairHistory } from "./agent/repair-history.ts";
export type { Run } from "./agent/run.ts";
export { RunError } from "./agent/run-error.ts";
export type { ResumeOptions, RunOptions } from "./agent/run-options.ts";
export {
  type NamedTool,
  type PersonQuestion,
  type Tool,
  type ToolContext,
  type ToolEffect,
  type ToolOptions,
  tool,
  type VerifiedOutcome,
} from "./agent/tool.ts";
export { OutcomeUnknown, type ToolContent, toolContent } from "./agent/tool-result.ts";
export type { RetryOptions } from "./agent/tool-retry.ts";
export { fromUIMessage, toUIMessages, type UIMessage, type UIPart } from "./agent/ui-messages.ts";
export type { UIResponseOptions } from "./agent/ui-response.ts";
export type { UIMessageChunk, UIStreamOptions } from "./agent/ui-stream.ts";
export { openCheckpointer, openSaver } from "./backends/open.ts";
export { openStore } from "./backends/open-store.ts";
export { assertCheckpointer } from "./checkpoint/assert-checkpointer.ts";
export {
  BaseCheckpointer,
  type CheckpointRef,
  type CheckpointSummary,
  type CopyOptions,
  type DeleteOptions,
  type FindOptions,
  type ForkOptions,
  type ListThreadsOptions,
  type PageOptions,
  type SaveOptions,
  type SearchPage,
  type ThreadSearchHit,
  type ThreadStats,
  type ThreadSummary,
  uncheckedHead,
  type VacuumOptions,
  type VacuumPlanEntry,
  type VacuumReport,
} from "./checkpoint/base-checkpointer.ts";
export {
  CAPABILITY_FLAGS,
  type CapabilityFlag,
  type CheckpointerCapabilities,
  capabilities,
} from "./checkpoint/capabilities.ts";
export { Checkpointer } from "./checkpoint/checkpointer.ts";
export type { CheckpointerOptions } from "./checkpoint/context.ts";
export { StorageBackendAdapter, type StorageBackendAdapterOptions } from "./checkpoint/dict/adapter.ts";
export type { DictData, DictStorage } from "./checkpoint/dict/dict-storage.ts";
export type { InboxItem, InboxOptions } from "./checkpoint/find/inbox.ts";
export type { WatchOptions } from "./checkpoint/find/watching.ts";
export type { StatePlace } from "./checkpoint/history/compared-places.ts";
export type { CallSettlement } from "./checkpoint/history/settling-calls.ts";
export type { RecordFault, ThreadVerdict } from "./checkpoint/history/verifying.ts";
export type { BreakLeaseOptions, Lease, LeaseInfo, LeaseOptions } from "./checkpoint/lease/lease.ts";
export type { ThreadLog } from "./checkpoint/log/thread-log.ts";
export { refOf as checkpointRef } from "./checkpoint/options.ts";
export type { ForkPoint } from "./checkpoint/record/record.ts";
export { type CompactingOptions, compactingConversation } from "./conversation/compacting.ts";
export { estimateTokens, type TokenCounter } from "./conversation/estimate-tokens.ts";
export type { Summarizer, Summary, SummaryRequest } from "./conversation/summarize.ts";
export { type WindowOptions, windowConversation } from "./conversation/window.ts";
export type { Access } from "./driver/access.ts";
export type { RetryPolicy } from "./driver/call.ts";
export type { Durability } from "./driver/durability.ts";
export type { Page } from "./driver/page.ts";
export type { ThreadWarning } from "./driver/warnings.ts";
export { ERROR_CODES, type ErrorCode, type ErrorContext, StateError } from "./errors.ts";
export {
  ConversationIndex,
  type ConversationSearchOptions,
  type FoundLine,
  type SpokenLine,
  spokenLines,
} from "./memory/conversation-index.ts";
export type { MemoriesOf, MemoryDecision } from "./memory/core-memory.ts";
export type { Explanation } from "./memory/explain.ts";
export type { ExtractableMessage, ExtractFunction, Extractor, ExtractRequest, KnownFact } from "./memory/extractor.ts";
export { heuristicExtractor } from "./memory/heuristic-extractor.ts";
export type { Fact, Memory, MemoryType, PastValue, PendingMemory, Provenance } from "./memory/memory.ts";
export type { MemoryShelf } from "./memory/memory-shelf.ts";
export type { Outcome as MemoryOutcome } from "./memory/merge-fact.ts";
export { fallbackModel } from "./models/fallback-model.ts";
export type {
  FinishReason,
  JsonSchema,
  Model,
  ModelPart,
  ModelReport,
  ModelRequest,
  ModelTool,
  ModelUsage,
} from "./models/model.ts";
export { ModelError } from "./models/model-error.ts";
export type { AnySchema, SchemaOutput, StandardSchema } from "./models/schema.ts";
export { type AiSdkModel, type AiSdkOptions, fromAiSdk, isAiSdkModel } from "./providers/ai-sdk/index.ts";
export { modelFromString } from "./providers/strings.ts";
export { CheckpointSaver, type CheckpointSaverOptions, type SaverRules, saverOf } from "./saver/checkpoint-saver.ts";
export {
  type ChannelWrite,
  type CheckpointInfo,
  type DeleteForRunsRequest,
  type GetRequest,
  type ListedCheckpoint,
  type ListRequest,
  type ListThreadsRequest,
  type PendingWrite,
  type PruneRequest,
  type PutRequest,
  type PutWritesRequest,
  type RemovedReport,
  type SavedCheckpoint,
  type Saver,
  SPECIAL_CHANNELS,
} from "./saver/saver.ts";
export { newCheckpointId } from "./saver/thread/new-checkpoint-id.ts";
export {
  createKeyFile,
  environmentKeys,
  fileKeys,
  type KeyProvider,
  newOuterKey,
  type WrappedKey,
} from "./sealing/key-provider.ts";
export { type KeyedPerson, Keyring } from "./sealing/keyring.ts";
export type { KeyringOptions } from "./sealing/keyring-options.ts";
export { type OciVaultClient, type OciVaultOptions, ociVaultKeys } from "./sealing/oci-vault.ts";
export type { RotationOptions, RotationReport } from "./sealing/rotation.ts";
export { Sealing, type SealingOptions } from "./sealing/sealing.ts";
export type { CheckpointOptions, FinishedRun, SessionCheckpoint, SessionTask } from "./session/agent-session.ts";
export type { EraseOptions } from "./session/erase-options.ts";
export type { AcceptedGaps } from "./session/erasure-run.ts";
export type { HoldRequest, LiftRequest, ListedHold } from "./session/hold-books.ts";
export type { Inventory, InventoryPlace } from "./session/personal-data.ts";
export {
  type ErasedPlace,
  type ErasureReceipt,
  type ErasureReport,
  faultInReceipts,
  type HeldBack,
  type RetentionReceipt,
  type Unreached,
} from "./session/receipts.ts";
export type { RetentionEntry, RetentionReport, RetentionTotal } from "./session/retention.ts";
export type { RetentionOptions, RetentionOutcome } from "./session/retention-options.ts";
export type { RetentionRule } from "./session/retention-rules.ts";
export type { UserItem } from "./session/user-store.ts";
export { AgentState } from "./state/agent-state.ts";
export type { StateDiff } from "./state/diff.ts";
export type {
  Interrupt,
  ReasoningStep,
  RecordedError,
  StateFields,
  StateSchema,
  ThreadTotals,
  ToolExecution,
} from "./state/fields.ts";
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
} from "./state/message.ts";
export type { HoldNote, LegalHold } from "./state/people/legal-hold.ts";
export { type Attributed, attributed, ERASED, ofNobody, type Subjects } from "./state/people/subjects.ts";
export {
  isSecretRef,
  type Redactor,
  redactSecrets,
  refuseSecrets,
  resolveSecret,
  type SecretRef,
  type SecretSource,
  secretRef,
} from "./state/secrets.ts";
export type { OpenCallsPolicy, Standing } from "./state/tool-calls.ts";
export type { JsonValue } from "./state/values/codec.ts";
export { BaseStore } from "./store/base-store.ts";
export { type StoreCapabilities, type StoreFlag, storeCapabilities } from "./store/capabilities.ts";
export type { Embedder, EmbeddingModel, EmbedFunction } from "./store/embedder.ts";
export type { FieldFilter, StoreFilter } from "./store/filter.ts";
export {
  anySegment,
  type ClearOptions,
  type EmbeddingSearchOptions,
  type IndexedText,
  type ItemRef,
  type ListNamespacesOptions,
  type ListOptions,
  type NamespacePattern,
  type PutEntry,
  type PutOptions,
  type PutResult,
  type PutWithEmbeddingOptions,
  type StoreHit,
  type StoreItem,
  type StorePageOptions,
  type StoreSearchOptions,
  type UpdateFunction,
  type UpdateOptions,
  type Vector,
  type WriteOptions,
} from "./store/items.ts";
export { NamespacedStore } from "./store/namespaced-store.ts";
export { Store } from "./store/store.ts";
export type { StoreOptions } from "./store/store-access.ts";
export { StoreContext, type StoreContextOptions } from "./store/store-context.ts";
export type { Namespace, StoreDriver } from "./store/store-driver.ts";
export { Agent, type AgentOptions } from "./wiring/agent.ts";
export { AgentSession, type AgentSessionOptions, type RestoreOptions } from "./wiring/agent-session.ts";
export { LLMMemoryManager, type LLMMemoryManagerOptions } from "./wiring/llm-memory-manager.ts";
export { type CleanBackends, PersonalData, type PersonalDataOptions } from "./wiring/personal-data.ts";
export { UserStore, type UserStoreOptions } from "./wiring/user-store.ts";
