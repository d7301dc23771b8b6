import { sleep } from "../../internal/time.ts";
import type { ToolExecution } from "../../state/fields.ts";
import type { RunContext } from "../run/run-context.ts";
import type { Tool, ToolEffect } from "./tool.ts";
import { type Outcome, wordsOf } from "./tool-result.ts";

/** How often a call that failed is tried again. */
export interface RetryOptions {
  /** How many attempts there are in all; those that a crash cut off count. */
  readonly attempts: number;
  /** The pause before the second attempt, which doubles each time up to a minute; or a function of the attempt that failed. @default 500 */
  readonly backoff?: number | ((attempt: number) => number);
}

export interface ToolRetry {
  readonly attempts: number;
  pauseMs(attempt: number): number;
}

const LONGEST_PAUSE_MS = 60_000;
/** Beyond this a timer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function readyRetry(name: string, retry: RetryOptions | undefined, effect: ToolEffect): ToolRetry | undefined {
  if (retry === undefined) return undefined;
  const { attempts, backoff = 500 } = retry;
  if (!(Number.isInteger(attempts) && attempts >= 1)) {
    throw new TypeError(`tool "${name}": retry.attempts must be a whole number from 1 on`);
  }
  if (typeof backoff !== "function" && !(backoff >= 0 && backoff <= LONGEST_TIMER_MS)) {
    throw new TypeError(`tool "${name}": retry.backoff must be a number of milliseconds, or a function of the attempt`);
  }
  if (effect === "atMostOnce") {
    throw new TypeError(
      `tool "${name}": a call that failed may have taken effect, so one with retry must be effect: "idempotent" ` +
        '(hand idempotencyKey to what you call) or "pure"',
    );
  }
  const pause = (attempt: number): number =>
    typeof backoff === "function" ? backoff(attempt) : Math.min(backoff * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
  return {
    attempts,
    pauseMs: (attempt) => Math.min(Math.max(Number(pause(attempt)) || 0, 0), LONGEST_TIMER_MS),
  };
}

/** The entry of a call that is to be tried again, with what failed; `undefined` where that was its end. */
export function retried(
  { retry }: Tool,
  started: ToolExecution,
  outcome: Outcome,
  now: number,
): ToolExecution | undefined {
  const attempt = started.attempts ?? 1;
  if (retry === undefined || outcome.status !== "failed" || attempt >= retry.attempts) return undefined;
  const failure = { attempt, at: now, error: wordsOf(outcome).slice(0, 500) };
  return {
    ...started,
    status: "intended",
    failures: [...(started.failures ?? []), failure],
    retryAt: now + retry.pauseMs(attempt),
  };
}

/**
 * Waits until a call may be tried again. Never longer than the tool's own pause:
 * the time may have been written by another machine's clock. False if the run
 * was aborted meanwhile: the call stays as it is, for the next run.
 */
export async function untilDue(
  { parts, signal }: RunContext,
  { retry }: Tool,
  execution: ToolExecution,
): Promise<boolean> {
  const { retryAt, attempts = 1, status } = execution;
  if (retryAt === undefined || status !== "intended" || retry === undefined) return true;
  const pause = Math.min(retryAt - parts.now(), retry.pauseMs(attempts));
  if (pause > 0) await sleep(pause, signal).catch(() => undefined);
  return !signal.aborted;
}
