import { StateError } from "../errors.ts";
import type { AgentState } from "../state/agent-state.ts";
import { askModel } from "./ask-model.ts";
import { cutOffReason } from "./cut-off.ts";
import type { StopReason } from "./events.ts";
import { runAfter } from "./hooks.ts";
import { pendingInterrupts } from "./interrupts.ts";
import { argumentsHash, type LedgerCall, openCalls } from "./ledger.ts";
import { judgeAnswer } from "./output.ts";
import { runCall } from "./run-call.ts";
import type { RunContext } from "./run-context.ts";

export interface Ending {
  readonly stopReason: StopReason;
  readonly output?: unknown;
}

/** Runs the calls that are open, asks the model, and repeats until it asks for none. */
export async function drive(context: RunContext): Promise<Ending> {
  const { parts, session, limits, emit } = context;
  for (;;) {
    const stopped = await finishOpenCalls(context);
    if (stopped !== undefined) return { stopReason: stopped };
    if (limits.iterations > 0) {
      await runAfter(parts.hooks, "afterIteration", { state: session.state, iteration: limits.iterations }, emit);
    }
    if (isAnswered(session.state)) {
      const ending = await judgeAnswer(context);
      if (ending !== "ask again") return ending;
    }
    const reached = await reasonToStop(context);
    if (reached !== undefined) return { stopReason: reached };
    const iteration = limits.countIteration();
    emit({ type: "iteration-start", iteration });
    await parts.hooks.beforeIteration?.({ state: session.state, iteration });
    const message = await askModel(context);
    if (context.signal.aborted) return { stopReason: cutOffReason(context.signal) };
    if (message === undefined || message.incomplete === true) return { stopReason: "incomplete" };
  }
}

async function reasonToStop(context: RunContext): Promise<StopReason | undefined> {
  if (context.signal.aborted) return cutOffReason(context.signal);
  if (context.isDraining()) return "drained";
  return context.limits.reached(context.session.state);
}

/** Brings every open call of the last model message to its end. Says why the run must stop here, if it must. */
export async function finishOpenCalls(context: RunContext): Promise<StopReason | undefined> {
  const { session, limits, signal } = context;
  const calls = openCalls(session.state);
  if (calls.length > 0) limits.countCalls(calls.map(({ call }) => argumentsHash(call)).join());
  await inParallel(context, calls);
  if (openCalls(session.state).length > 0) {
    if (pendingInterrupts(session.state).length > 0) return "interrupted";
    if (signal.aborted) return cutOffReason(signal);
    throw new StateError("UNKNOWN", "a tool call was left open; run the thread again without a prompt to settle it");
  }
  return endedByTerminalTool(context) ? "terminal-tool" : undefined;
}

/** As many at a time as allowed. Waits for all of them even when one fails: the others' outcomes must not be lost. */
async function inParallel(context: RunContext, calls: readonly LedgerCall[]): Promise<void> {
  const queue = [...calls];
  const workers = Array.from({ length: Math.min(context.parts.toolConcurrency, calls.length) }, async () => {
    for (let next = queue.shift(); next !== undefined && !context.signal.aborted; next = queue.shift()) {
      await runCall(context, next);
    }
  });
  const failed = (await Promise.allSettled(workers)).find((worker) => worker.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/** Looks at the state and not at what this run did, so that it holds for a run that was resumed; a later message of the user's ends it. */
export function endedByTerminalTool({ session, parts }: RunContext): boolean {
  const { messages, toolExecutions } = session.state;
  const last = messages.findLast((message) => message.role !== "tool");
  if (last?.role !== "assistant") return false;
  return (last.toolCalls ?? []).some(
    (call) =>
      parts.tools.get(call.name)?.terminal === true &&
      toolExecutions.some((entry) => entry.toolCallId === call.id && entry.status === "succeeded"),
  );
}

/** Whether the last turn is over: the model spoke last, in full, and asked for nothing. */
export function isAnswered({ messages }: AgentState): boolean {
  const last = messages.at(-1);
  return last?.role === "assistant" && (last.toolCalls ?? []).length === 0 && last.incomplete !== true;
}
