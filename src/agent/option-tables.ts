import type { OptionTable } from "../internal/option-table.ts";
import type { CoreAgentOptions } from "./agent-options.ts";
import type { RunLimits } from "./run/limits.ts";
import type { AnswerOptions, RunOptions } from "./run-options.ts";
import type { CompleteOptions } from "./tool-call/completing.ts";

/**
 * One row for each option: the checks go by it, the defaults are taken from it,
 * and `npm run sync` writes docs/reference/options.md from it and from the comments on the options.
 */
type OfAgents = CoreAgentOptions & { readonly fallbackModels?: unknown };

export const LIMITS: OptionTable<RunLimits> = {
  maxIterations: { kind: "number", above: 0, default: 20 },
  tokenBudget: { kind: "number", above: 0 },
  timeBudgetMs: { kind: "number", above: 0 },
  toolLoopThreshold: { kind: "number", above: 0, default: 3 },
  stopWhen: { kind: "function" },
};

export const AGENT_OPTIONS: OptionTable<OfAgents> = {
  model: { kind: "anything" },
  tools: { kind: "anything" },
  checkpointer: { kind: "anything" },
  systemPrompt: { kind: ["string", "function"] },
  name: { kind: "string" },
  recordContent: { kind: "boolean", default: false },
  checkpointEveryNIterations: { kind: ["number", "string"], least: 1, whole: true, or: "end", default: 1 },
  ...LIMITS,
  toolConcurrency: { kind: "number", least: 1, whole: true, default: 10 },
  maxToolResultChars: { kind: "number", least: 100, whole: true, default: 32_000 },
  maxOutputTokens: { kind: "number", least: 1, whole: true },
  temperature: { kind: "number", least: 0 },
  topP: { kind: "number", above: 0, most: 1 },
  stopSequences: { kind: "object" },
  seed: { kind: "number", whole: true, least: 0 },
  modelTimeoutMs: { kind: "number", above: 0 },
  toolChoice: { kind: ["string", "object"] },
  providerOptions: { kind: "object" },
  prepareStep: { kind: "function" },
  fallbackModels: { kind: "object" },
  outputSchema: { kind: ["object", "function"] },
  maxOutputRepairs: { kind: "number", least: 0, whole: true, default: 2 },
  lease: { kind: ["boolean", "object"], default: true },
  whenBusy: { kind: "string", default: "wait" },
  runtimeFor: { kind: "function" },
  saveRetryMs: { kind: "number", least: 0, default: 60_000 },
  memory: { kind: "object" },
  conversation: { kind: "object" },
  hooks: { kind: "object" },
  prices: { kind: "object" },
  now: { kind: "function" },
};

/** The options that `run`, `answer` and `complete` share. */
const SHARED: OptionTable<Omit<RunOptions, "declinePending" | "messageId" | "backTo">> = {
  threadId: { kind: "string" },
  signal: { kind: "object" },
  metadata: { kind: "object" },
  runtime: { kind: "anything" },
  subject: { kind: ["string", "object"] },
  session: { kind: "object" },
  whenBusy: { kind: "string" },
  outputSchema: { kind: ["object", "function"] },
  ...LIMITS,
};

export const RUN_OPTIONS: OptionTable<RunOptions> = {
  ...SHARED,
  declinePending: { kind: ["boolean", "string"], default: false },
  messageId: { kind: "string" },
  backTo: { kind: "string" },
};

export const ANSWER_OPTIONS: OptionTable<AnswerOptions> = {
  ...SHARED,
  id: { kind: "string" },
  response: { kind: "anything" },
  decline: { kind: ["boolean", "string"] },
};

const { subject: _, ...SHARED_BY_OUTCOMES } = SHARED;
export const COMPLETE_OPTIONS: OptionTable<CompleteOptions> = {
  ...SHARED_BY_OUTCOMES,
  toolCallId: { kind: "string" },
  result: { kind: "anything" },
  error: { kind: "anything" },
};
