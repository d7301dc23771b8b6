import { StateError } from "../../errors.ts";
import type { ModelUsage } from "../../models/model.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { StopReason } from "../events.ts";

/** When a run ends although the model would go on. All of these count one run, never the life of the thread. */
export interface RunLimits {
  /** Model calls. @default 20 */
  readonly maxIterations?: number;
  /** Input and output tokens together. @default no limit */
  readonly tokenBudget?: number;
  /** @default no limit */
  readonly timeBudgetMs?: number;
  /** How often the same calls with the same arguments may come in a row. @default 3 */
  readonly toolLoopThreshold?: number;
  /** Asked before each model call. */
  readonly stopWhen?: (context: {
    readonly state: AgentState;
    readonly iterations: number;
    readonly usage: ModelUsage;
  }) => unknown;
}

export class LimitGuard {
  readonly #limits: RunLimits;
  readonly #startedAt: number;
  readonly #now: () => number;
  #iterations = 0;
  #usage: ModelUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
  #cost: number | undefined = 0;
  #lastCalls = "";
  #repeats = 0;

  constructor(limits: RunLimits, now: () => number) {
    for (const name of ["maxIterations", "tokenBudget", "timeBudgetMs", "toolLoopThreshold"] as const) {
      const value = limits[name];
      if (value !== undefined && !(value > 0))
        throw new StateError("INVALID_ARGUMENT", `${name} must be greater than 0`);
    }
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
  async reached(state: AgentState): Promise<StopReason | undefined> {
    const { maxIterations = 20, tokenBudget, timeBudgetMs, toolLoopThreshold = 3, stopWhen } = this.#limits;
    if (this.#repeats >= toolLoopThreshold) return "tool-loop";
    if (this.#iterations >= maxIterations) return "max-iterations";
    if (tokenBudget !== undefined && this.#usage.inputTokens + this.#usage.outputTokens >= tokenBudget)
      return "token-budget";
    if (timeBudgetMs !== undefined && this.#now() - this.#startedAt >= timeBudgetMs) return "time-budget";
    const asked = { state, iterations: this.#iterations, usage: this.#usage };
    return (await stopWhen?.(asked)) ? "stopped" : undefined;
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

  /** `signature` stands for the calls of one iteration, names and arguments. */
  countCalls(signature: string): void {
    this.#repeats = signature === this.#lastCalls ? this.#repeats + 1 : 1;
    this.#lastCalls = signature;
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
