import type { RunResult } from "../events.ts";
import { pendingInterrupts } from "../tool-call/interrupts.ts";
import { pendingCalls } from "../tool-call/later.ts";
import type { Ending } from "./loop.ts";
import type { RunContext } from "./run-context.ts";
import { lastText } from "./run-error.ts";

export function resultOf<Output>(
  { session, limits, parts }: RunContext,
  { stopReason, output, text: said }: Ending,
): RunResult<Output> {
  const text = said ?? lastText(session.state);
  return {
    text,
    message: text,
    state: session.state,
    stopReason,
    usage: limits.usage,
    cost: parts.prices === undefined ? undefined : limits.cost,
    iterations: limits.iterations,
    checkpointId: session.checkpointId,
    output: output as Output | undefined,
    interrupts: pendingInterrupts(session.state),
    pending: pendingCalls(session.state),
  };
}
