/** The agent, its tools, its runs, and what plugs into it: every name of the root that is about them, and the rarer ones. */
export type { AgentThread, StateChange } from "../agent/agent-thread.ts";
export type { RunEvent, RunResult, StopReason } from "../agent/events.ts";
export type { Guards, Verdict } from "../agent/guards.ts";
export type { AgentHooks } from "../agent/hooks.ts";
export type { PrepareStep, Step, StepChanges } from "../agent/model-call/model-question.ts";
export type { ModelSettings, ToolChoice } from "../agent/model-call/model-settings.ts";
export type { ModelPrice, PriceTable } from "../agent/model-call/prices.ts";
export { repairHistory } from "../agent/model-call/repair-history.ts";
export type { FollowOptions } from "../agent/page/following.ts";
export type {
  ConversationPort,
  MemoryContext,
  MemoryPort,
  ObservedCall,
  RememberContext,
  SessionPort,
  ShapeContext,
  ShapedConversation,
} from "../agent/ports.ts";
export type { DrainOptions, RunLimits } from "../agent/run/limits.ts";
export type { WhenBusy } from "../agent/run/only-writer.ts";
export type { RecoverOptions, RecoverReport } from "../agent/run/recovering.ts";
export type { RuntimeFor } from "../agent/run/run-context.ts";
export { RunError } from "../agent/run/run-error.ts";
export type { Run } from "../agent/run.ts";
export type { AnswerOptions, RunOptions } from "../agent/run-options.ts";
export { type AnswerPendingOptions, answerPending } from "../agent/tool-call/answering.ts";
export type { CompleteOptions } from "../agent/tool-call/completing.ts";
export type { Approval } from "../agent/tool-call/interrupts.ts";
export type { Later, LaterOptions } from "../agent/tool-call/later.ts";
export type { RetryOptions } from "../agent/tool-call/tool.ts";
export {
  type NamedTool,
  type PersonQuestion,
  type Tool,
  type ToolContext,
  type ToolEffect,
  type ToolOptions,
  tool,
  type VerifiedOutcome,
} from "../agent/tool-call/tool.ts";
export { OutcomeUnknown, type ToolContent, toolContent } from "../agent/tool-call/tool-result.ts";
export type { SendOptions, Sent } from "../checkpoint/signals/sending.ts";
export type { Answer, CallResult, Signal } from "../checkpoint/signals/signal.ts";
export { type CompactingOptions, compactingConversation } from "../conversation/compacting.ts";
export { estimateTokens, type TokenCounter } from "../conversation/estimate-tokens.ts";
export type { Summarizer, Summary, SummaryRequest } from "../conversation/summarize.ts";
export { type WindowOptions, windowConversation } from "../conversation/window.ts";
export { ModelError } from "../models/model-error.ts";
export { type PendingCall, pendingIn } from "../state/pending.ts";
export { Agent, type AgentOptions } from "../wiring/agent.ts";
