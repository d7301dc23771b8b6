import { setMaxListeners } from "node:events";
import { StateError } from "../../errors.ts";
import { assertKnownOptions, type OptionKinds } from "../../internal/known-options.ts";
import { given } from "../../internal/option-table.ts";
import type { ModelUsage } from "../../models/model.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { StopReason } from "../events.ts";
import { AGENT_OPTIONS, LIMITS } from "../option-tables.ts";

/** When a run ends although the model would go on. All of these count one run, never the life of the thread. */
export interface RunLimits {
  /** Model calls of one run. @default 20 */
  readonly maxIterations?: number;
  /** Input and output tokens of one run together. @default no limit */
  readonly tokenBudget?: number;
  /** How long one run may take; also aborts a model or a tool that hangs. @default no limit */
  readonly timeBudgetMs?: number;
  /** How often the same calls, with the same arguments, may give the same results in a row. @default 3 */
  readonly toolLoopThreshold?: number;
  /** Asked before each model call; `true` ends the run. */
  readonly stopWhen?: (context: {
    readonly state: AgentState;
    readonly iterations: number;
    readonly usage: ModelUsage;
  }) => unknown;
}

/** The limits among the options of a run. */
export const limitsIn = (options: RunLimits): RunLimits =>
  Object.fromEntries(Object.entries(options).filter(([name, value]) => name in LIMITS && value !== undefined));

export class LimitGuard {
  readonly #limits: RunLimits;
  readonly #startedAt: number;
  readonly #now: () => number;
  #iterations = 0;
  #usage: ModelUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
  #cost: number | undefined = 0;
  #lastCalls = "";
  #lastNames = "";
  #repeats = 0;

  constructor(limits: RunLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
    this.#startedAt = now();
  }

  get iterations(): number {
    return this.#iterations;
  }

  get usage(): ModelUsage {
    return this.#usage;
  }

  /** Why the model must not be asked again, if so. */
  async reached(state: AgentState): Promise<{ stopReason: StopReason; detail?: string } | undefined> {
    const { tokenBudget, timeBudgetMs, stopWhen } = this.#limits;
    const threshold = given(this.#limits, AGENT_OPTIONS, "toolLoopThreshold");
    const maxIterations = given(this.#limits, AGENT_OPTIONS, "maxIterations");
    if (this.#repeats >= threshold) {
      const detail = `${this.#lastNames} gave the same result ${this.#repeats} times in a row (toolLoopThreshold)`;
      return { stopReason: "tool-loop", detail };
    }
    if (this.#iterations >= maxIterations)
      return { stopReason: "max-iterations", detail: `${maxIterations} model calls (maxIterations)` };
    if (tokenBudget !== undefined && this.#usage.inputTokens + this.#usage.outputTokens >= tokenBudget)
      return { stopReason: "token-budget", detail: `${tokenBudget} tokens (tokenBudget)` };
    if (timeBudgetMs !== undefined && this.#now() - this.#startedAt >= timeBudgetMs)
      return { stopReason: "time-budget", detail: `${timeBudgetMs} ms (timeBudgetMs)` };
    const asked = { state, iterations: this.#iterations, usage: this.#usage };
    return (await stopWhen?.(asked)) ? { stopReason: "stopped" } : undefined;
  }

  countIteration(): number {
    return ++this.#iterations;
  }

  countUsage(usage: ModelUsage): void {
    const { cacheWriteTokens, reasoningTokens } = usage;
    const before = this.#usage;
    this.#usage = {
      inputTokens: before.inputTokens + usage.inputTokens,
      outputTokens: before.outputTokens + usage.outputTokens,
      cachedInputTokens: before.cachedInputTokens + usage.cachedInputTokens,
      ...summed("cacheWriteTokens", before.cacheWriteTokens, cacheWriteTokens),
      ...summed("reasoningTokens", before.reasoningTokens, reasoningTokens),
    };
  }

  /** The cost of the run; `undefined` once a call was made whose price is unknown. */
  get cost(): number | undefined {
    return this.#cost;
  }

  countCost(cost: number | undefined): void {
    this.#cost = this.#cost === undefined || cost === undefined ? undefined : this.#cost + cost;
  }

  /** `signature` stands for the calls of one iteration: names, arguments and results. A call that brings something new is no loop. */
  countCalls(names: readonly string[], signature: string): void {
    this.#repeats = signature === this.#lastCalls ? this.#repeats + 1 : 1;
    this.#lastCalls = signature;
    this.#lastNames = names.join(", ");
  }
}

const summed = <Name extends string>(
  name: Name,
  before: number | undefined,
  added: number | undefined,
): { readonly [Key in Name]?: number } =>
  (before === undefined && added === undefined ? {} : { [name]: (before ?? 0) + (added ?? 0) }) as {
    readonly [Key in Name]?: number;
  };

/** Aborts a run for a reason of the agent's own, not of the caller's signal. */
class CutOff extends Error {
  readonly stopReason: StopReason;

  constructor(stopReason: "time-budget" | "drained") {
    super(stopReason === "drained" ? "the agent is draining" : "the time budget of the run is spent");
    this.stopReason = stopReason;
  }
}

/** Why a run whose signal aborted ended. */
export const cutOffReason = ({ reason }: AbortSignal): StopReason =>
  reason instanceof CutOff ? reason.stopReason : "cancelled";

/** A signal of one run's own, with as many listeners as it has tools under way. */
export function signalOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const signal = AbortSignal.any(signals.filter((given) => given !== undefined));
  setMaxListeners(0, signal);
  return signal;
}

/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Aborts a run when its time is spent: a hanging model or tool does not check the clock. */
export class TimeBudget {
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly spent: AbortSignal;

  constructor(ms: number | undefined) {
    const budget = new AbortController();
    this.spent = budget.signal;
    if (ms === undefined || ms > LONGEST_TIMER_MS) return;
    this.#timer = setTimeout(() => budget.abort(new CutOff("time-budget")), ms);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

export interface DrainOptions {
  /** After this time, models and tools that are still running are aborted. @default no deadline */
  readonly deadlineMs?: number;
}

const DRAIN: OptionKinds<DrainOptions> = { deadlineMs: "number" };

/** Waits for runs to end, and aborts those that have not by the deadline. */
export async function drainRuns(
  runs: ReadonlyMap<Promise<void>, AbortController>,
  { deadlineMs }: DrainOptions,
): Promise<void> {
  const ended = Promise.allSettled(runs.keys());
  if (deadlineMs === undefined || deadlineMs > LONGEST_TIMER_MS) return void (await ended);
  const controllers = [...runs.values()];
  const timer = setTimeout(() => {
    for (const controller of controllers) controller.abort(new CutOff("drained"));
  }, deadlineMs);
  await ended;
  clearTimeout(timer);
}

export function assertDrainOptions(where: string, options: DrainOptions): void {
  assertKnownOptions(where, options, DRAIN);
  const { deadlineMs } = options;
  if (deadlineMs === undefined || deadlineMs >= 0) return;
  throw new StateError("INVALID_ARGUMENT", `${where}: deadlineMs must be a number of milliseconds from 0 on`);
}
