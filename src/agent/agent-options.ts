import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import type { LeaseOptions } from "../checkpoint/lease/lease.ts";
import type { Model } from "../models/model.ts";
import type { AnySchema } from "../models/schema.ts";
import type { AgentState } from "../state/agent-state.ts";
import type { AgentHooks } from "./hooks.ts";
import type { PrepareStep } from "./model-call/model-question.ts";
import type { ModelSettings } from "./model-call/model-settings.ts";
import type { PriceTable } from "./model-call/prices.ts";
import type { ConversationPort, MemoryPort } from "./ports.ts";
import type { RunLimits } from "./run/limits.ts";
import type { WhenBusy } from "./run/only-writer.ts";
import type { RuntimeFor } from "./run/run-context.ts";
import type { NamedTool, Tool } from "./tool-call/tool.ts";

/** Asked before each model call. A prompt that stays the same through a run stays in the provider's cache. */
export type SystemPrompt<Runtime = unknown> = (step: {
  readonly state: AgentState;
  readonly threadId: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly runtime: Runtime;
}) => string | Promise<string>;

export interface CoreAgentOptions<Runtime = unknown, Tools extends NamedTool = NamedTool>
  extends RunLimits,
    ModelSettings {
  /** Resolved when the first run needs it. */
  readonly model: () => Promise<Model>;
  readonly checkpointer?: () => Promise<BaseCheckpointer>;
  /** Made by `tool()`. */
  readonly tools?: readonly (Tools & Tool<Runtime>)[];
  /** Shown to the model before everything else. Not part of the thread: change it any time. */
  readonly systemPrompt?: string | SystemPrompt<Runtime>;
  /**
   * 1: after each iteration. n: after every n-th; a crash may cost the model's
   * answers and the results of pure tools since then. "end": likewise, since the
   * run began. The user's message, and every call that has effects, are durable
   * before the next step in any case. @default 1
   */
  readonly checkpointEveryNIterations?: number | "end";
  /** How many tools may run at once. @default 10 */
  readonly toolConcurrency?: number;
  /** A result longer than this is kept beside the conversation, and the model reads it in parts. @default 32000 */
  readonly maxToolResultChars?: number;
  /** What is recalled from other threads, and remembered for them. */
  readonly memory?: MemoryPort;
  /** Which part of a long conversation the model sees. */
  readonly conversation?: ConversationPort;
  /** The agent's name in traces. */
  readonly name?: string;
  /** Whether traces hold what was said: prompts, answers, arguments, results, the messages of errors. @default false */
  readonly recordContent?: boolean;
  /** Model prices, for `result.cost` and the thread's totals. You supply them and keep them up to date. */
  readonly prices?: PriceTable;
  /** Called around the steps of a run; guards are among them. */
  readonly hooks?: AgentHooks;
  /** Called before each model call: may change the model, the tools, the settings or the messages of that call only. */
  readonly prepareStep?: PrepareStep;
  /** The answer must be JSON that matches this schema. */
  readonly outputSchema?: AnySchema;
  /** How often the model is asked again after an answer that does not match. @default 2 */
  readonly maxOutputRepairs?: number;
  /**
   * How a run holds its thread, so that no other run works on it at the same
   * time: `ttlMs` after its last sign of life it counts as dead (15000), a second
   * run waits `waitMs` for it (60000). `false` gives this up: two runs of one
   * thread then work side by side until one of them gets `CONFLICT`. @default true
   */
  readonly lease?: boolean | Omit<LeaseOptions, "signal">;
  /** What a run does if another run has the thread, unless the run says so itself. @default "wait" */
  readonly whenBusy?: WhenBusy;
  /**
   * What tools get as `runtime` for words that were sent to the thread (`thread.send`), which cannot bring one. Asked for
   * words of another person than the run's; without it, they wait for a run of their own.
   */
  readonly runtimeFor?: RuntimeFor<Runtime>;
  /** How long to retry a save that settles a call with effects while the storage is unreachable. @default 60000 */
  readonly saveRetryMs?: number;
  /** The clock, for tests. @default Date.now */
  readonly now?: () => number;
}
