import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import type { Model } from "../../models/model.ts";
import type { ReadySchema } from "../../models/schema.ts";
import type { UserMessage } from "../../state/message.ts";
import type { SystemPrompt } from "../agent-options.ts";
import type { RunEvent } from "../events.ts";
import type { AgentHooks } from "../hooks.ts";
import type { PrepareStep } from "../model-call/model-question.ts";
import type { ModelSettings } from "../model-call/model-settings.ts";
import type { PriceTable } from "../model-call/prices.ts";
import type { Prompt } from "../model-call/prompt.ts";
import type { ConversationPort, MemoryPort, SessionPort } from "../ports.ts";
import type { ThreadSession } from "../saving/thread-session.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ChildOutcome } from "../tool-call/sub-agent.ts";
import type { Tool } from "../tool-call/tool.ts";
import type { LimitGuard } from "./limits.ts";
import type { Mail } from "./mail.ts";
import type { Turn } from "./turns.ts";

/** What the tools get as `runtime` for a turn of words that were sent from elsewhere. */
export type RuntimeFor<Runtime = unknown> = (message: UserMessage) => Runtime | Promise<Runtime>;

/** What the agent was made of. The same for all its runs. */
export interface AgentParts {
  readonly model: Model;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly systemPrompt: string | SystemPrompt | undefined;
  /** 1 saves after each step, n after every n-th, `Infinity` only where it must. */
  readonly saveEvery: number;
  readonly toolConcurrency: number;
  readonly maxResultChars: number;
  readonly memory: MemoryPort;
  readonly conversation: ConversationPort;
  readonly hooks: AgentHooks;
  readonly settings: ModelSettings;
  readonly prepareStep: PrepareStep | undefined;
  readonly output: ReadySchema | undefined;
  readonly maxOutputRepairs: number;
  readonly saveRetryMs: number;
  readonly prices: PriceTable | undefined;
  readonly runtimeFor: RuntimeFor | undefined;
  readonly agentName: string | undefined;
  readonly telemetry: Telemetry;
  readonly now: () => number;
  /** Measures durations: setting the system's clock during a run does not affect it. */
  readonly runClock: () => number;
}

/** One run under way. */
export interface RunContext {
  readonly parts: AgentParts;
  readonly session: ThreadSession;
  readonly limits: LimitGuard;
  readonly threadId: string | undefined;
  /** Where the thread is kept, if it is. */
  readonly checkpointer: BaseCheckpointer | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The session that the run is a task of. */
  readonly task: SessionPort | undefined;
  /** What the caller handed in for the tools. Never stored. */
  runtime: unknown;
  /**
   * Who the words are about that the run takes in: at first the people of its own prompt. `undefined`: no person yet.
   */
  person: readonly string[] | undefined;
  /** Whether open questions are saved, so that they can be answered later. */
  readonly isKept: boolean;
  readonly signal: AbortSignal;
  /** Also aborts when a save failed: then the model's answer would be wasted. */
  readonly modelSignal: AbortSignal;
  /** What is sent to the thread meanwhile. */
  readonly mail: Mail;
  /** The run's place in this process, where senders of this process find it. */
  readonly turn: Turn | undefined;
  /** Ends the run as its caller's signal would. */
  readonly stop: AbortController;
  readonly isDraining: () => boolean;
  /** What the model is saying and was not saved yet: an answer that fails half way is not lost without a trace. */
  readonly progress: { spoken: string };
  /** Calls of tools with `reuseResult`, under way, by what they do: the second of two equals waits for the first. */
  readonly inFlight: Map<string, Promise<void>>;
  /** What the model is shown, from where it was shown last. */
  readonly prompt: Prompt;
  /** Outcomes of calls that sub-agents left for later, by the call of the sub-agent that they are for. */
  readonly handedDown: Map<string, ChildOutcome>;
  readonly emit: (event: RunEvent) => void;
}
