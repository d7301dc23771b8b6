import { setMaxListeners } from "node:events";
import { StateError } from "../../errors.ts";
import { assertKnownOptions, type OptionKinds } from "../../internal/known-options.ts";
import type { StopReason } from "../events.ts";

/** Aborts a run for a reason of the agent's own, not of the caller's signal. */
export class CutOff extends Error {
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
