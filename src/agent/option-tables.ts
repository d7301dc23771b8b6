import type { OptionTable } from "../internal/option-table.ts";
import type { CoreAgentOptions } from "./agent-options.ts";
import type { RunLimits } from "./run/limits.ts";
import type { ResumeOptions, RunOptions } from "./run-options.ts";
import type { CompleteOptions } from "./tool-call/completing.ts";

/**
 * One row for each option: the checks go by it, the defaults are taken from it,
 * and `npm run sync` writes docs/reference/options.md from it.
 */
type OfAgents = CoreAgentOptions & { readonly fallbackModels?: unknown };

export const LIMITS: OptionTable<RunLimits> = {
  maxIterations: { kind: "number", above: 0, default: 20, says: "Model calls of one run." },
  tokenBudget: { kind: "number", above: 0, says: "Input and output tokens of one run together." },
  timeBudgetMs: {
    kind: "number",
    above: 0,
    says: "How long one run may take; also ends a model or a tool that hangs.",
  },
  toolLoopThreshold: {
    kind: "number",
    above: 0,
    default: 3,
    says: "How often the same calls may give the same results in a row.",
  },
  stopWhen: { kind: "function", says: "Asked before each model call; `true` ends the run." },
};

export const AGENT_OPTIONS: OptionTable<OfAgents> = {
  model: {
    kind: "anything",
    says: 'A name (`"openai:gpt-5"`), any AI SDK language model, or your own `Model` ([models.md](models.md)).',
  },
  tools: { kind: "anything", says: "Made by `tool()` ([tools.md](tools.md))." },
  checkpointer: {
    kind: "anything",
    says: "Where threads are kept: a checkpointer, or a URL. Without one nothing is saved.",
  },
  systemPrompt: {
    kind: ["string", "function"],
    says: "Shown to the model before everything else: a text, or a function of `{ state, threadId, metadata, runtime }` that returns one. Not part of the thread: change it any time.",
  },
  name: { kind: "string", says: "The agent's name in traces." },
  recordContent: {
    kind: "boolean",
    default: false,
    says: "Whether traces hold what was said: prompts, answers, arguments, results, the messages of errors ([telemetry.md](telemetry.md)).",
  },
  checkpointEveryNIterations: {
    kind: ["number", "string"],
    least: 1,
    whole: true,
    or: "end",
    default: 1,
    says: "How often a run without effects is saved ([durable runs](durable-runs.md#what-is-durable-when)).",
  },
  ...LIMITS,
  toolConcurrency: { kind: "number", least: 1, whole: true, default: 10, says: "How many tools may run at once." },
  maxToolResultChars: {
    kind: "number",
    least: 100,
    whole: true,
    default: 32_000,
    says: "A longer result is stored beside the conversation, and the model reads it in parts.",
  },
  maxOutputTokens: { kind: "number", least: 1, whole: true, says: "The longest answer of the model." },
  temperature: { kind: "number", least: 0, says: "Passed to the model." },
  topP: { kind: "number", above: 0, most: 1, says: "Passed to the model." },
  stopSequences: { kind: "object", says: "Texts at which the model's answer ends." },
  seed: {
    kind: "number",
    whole: true,
    least: 0,
    says: "Passed to the model: the same seed, the same answer, as far as it can.",
  },
  modelTimeoutMs: {
    kind: "number",
    above: 0,
    says: "How long one request to the model may take. One that takes longer failed, and is tried again as any failure is.",
  },
  toolChoice: {
    kind: ["string", "object"],
    says: 'Whether the model calls tools: `"auto"`, `"none"`, `"required"`, or `{ name }` of the one that it must call.',
  },
  providerOptions: { kind: "object", says: "Passed to the provider as they are, by provider name." },
  prepareStep: {
    kind: "function",
    says: "Changes a single model call ([agent.md](agent.md#change-a-single-model-call)).",
  },
  fallbackModels: { kind: "object", says: "Models to ask, in order, when the one before failed." },
  outputSchema: {
    kind: ["object", "function"],
    says: "The answer must be JSON that matches it ([agent.md](agent.md#structured-output)).",
  },
  maxOutputRepairs: {
    kind: "number",
    least: 0,
    whole: true,
    default: 2,
    says: "How often the model is asked again after an answer that does not match.",
  },
  lease: {
    kind: ["boolean", "object"],
    default: true,
    says: "How a run holds its thread: `{ ttlMs, waitMs, owner }`; `false` gives it up ([durable runs](durable-runs.md#one-run-at-a-time)).",
  },
  whenBusy: {
    kind: "string",
    default: "wait",
    says: "What a run does while another run holds the thread; a run's own option comes first ([durable runs](durable-runs.md#one-run-at-a-time)).",
  },
  runtimeFor: {
    kind: "function",
    says: "The `runtime` for messages sent to a thread by a person other than the run's ([durable runs](durable-runs.md#the-mailbox)).",
  },
  saveRetryMs: {
    kind: "number",
    least: 0,
    default: 60_000,
    says: "How long a save that settles a call with effects is tried while the storage is away.",
  },
  memory: { kind: "object", says: "Memories from other threads ([long-term-memory.md](long-term-memory.md))." },
  conversation: {
    kind: "object",
    says: "Which part of a long conversation the model sees ([conversation.md](conversation.md)).",
  },
  hooks: {
    kind: "object",
    says: "Called around the steps of a run ([hooks](agent.md#hooks), [guards](agent.md#guards)).",
  },
  prices: { kind: "object", says: "Prices of models, for `result.cost` and the totals of the thread." },
  now: { kind: "function", says: "The clock, for tests." },
};

/** The options that `run`, `resume` and `complete` share. */
const SHARED: OptionTable<Omit<RunOptions, "declineWaiting" | "messageId" | "backTo">> = {
  threadId: { kind: "string", says: "The conversation to continue, or the id of a new one." },
  signal: { kind: "object", says: "An `AbortSignal` that ends the run ([agent.md](agent.md#stop-a-run))." },
  metadata: {
    kind: "object",
    says: "A plain object. It is merged into the thread's own (`state.metadata`) and saved with each checkpoint, so that `queryByMetadata` finds the thread by it. Tools see the whole as `context.metadata`, also after `resume`, and so does `memory`.",
  },
  runtime: {
    kind: "anything",
    says: "What your tools need and must not be stored: connections, clients, the signed-in user ([tools.md](tools.md#the-context)).",
  },
  subject: {
    kind: ["string", "object"],
    says: "Who the prompt is about. The answers, calls and results of the run are about the same people, so that `eraseUser` finds them ([personal-data.md](personal-data.md)), and what [memory](long-term-memory.md#whose-memories) keeps of it belongs to them. Without it, the subject of the session or of the thread.",
  },
  session: {
    kind: "object",
    says: '`session.task("label")`: tools see the session\'s working state, and an answer becomes a labelled checkpoint ([sessions.md](sessions.md)).',
  },
  whenBusy: {
    kind: "string",
    says: "What to do while another run holds the thread ([durable runs](durable-runs.md#one-run-at-a-time)).",
  },
  outputSchema: {
    kind: ["object", "function"],
    says: "In place of the agent's: the answer of this run must be JSON that matches it.",
  },
  ...LIMITS,
};

export const RUN_OPTIONS: OptionTable<RunOptions> = {
  ...SHARED,
  declineWaiting: {
    kind: ["boolean", "string"],
    default: false,
    says: "`true`, or a reason: declines open questions and gives up pending calls, so that the prompt is accepted ([tools.md](tools.md#ask-a-person)).",
  },
  messageId: {
    kind: "string",
    says: "The id of the prompt: the same id is answered once ([durable runs](durable-runs.md#the-same-message-twice)).",
  },
  backTo: { kind: "string", says: "A checkpoint: the thread goes back to it first ([agent.md](agent.md#threads))." },
};

export const RESUME_OPTIONS: OptionTable<ResumeOptions> = {
  ...SHARED,
  interruptId: { kind: "string", says: "The question." },
  response: { kind: "anything", says: "What fits the question." },
  decline: { kind: ["boolean", "string"], says: "In place of a response: `true`, or a reason." },
};

const { subject: _, ...SHARED_BY_OUTCOMES } = SHARED;
export const COMPLETE_OPTIONS: OptionTable<CompleteOptions> = {
  ...SHARED_BY_OUTCOMES,
  toolCallId: { kind: "string", says: "The call." },
  result: { kind: "anything", says: "What the tool would have returned." },
  error: { kind: "anything", says: "In place of a result: why there is none." },
};
