import { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { callAt } from "../../state/call-facts.ts";
import type { Message } from "../../state/message.ts";
import { externalCallsIn, unansweredIn } from "../../state/pending.ts";
import { encodeText } from "../../state/values/codec.ts";
import type { StopReason } from "../events.ts";
import { runAfter } from "../hooks.ts";
import { askModel } from "../model-call/ask-model.ts";
import { judgeAnswer } from "../model-call/output.ts";
import { argumentsHash, type LedgerCall, openCalls } from "../tool-call/ledger.ts";
import { runCall } from "../tool-call/run-call.ts";
import { cutOffReason } from "./limits.ts";
import { takeMail } from "./mail.ts";
import type { RunContext } from "./run-context.ts";
import { turnOf } from "./turn-number.ts";

export interface Ending {
  readonly stopReason: StopReason;
  readonly output?: unknown;
  /** Which limit ended it, in words. */
  readonly detail?: string;
  /** Where it is not the last that was said in the thread. */
  readonly text?: string;
}

/** Runs the open calls, asks the model, and repeats until it asks for no more calls. */
export async function drive(context: RunContext): Promise<Ending> {
  const { parts, session, limits, emit } = context;
  for (;;) {
    session.throwIfFailed();
    // Words that arrived while the model gave its answer are for the next turn: the caller of this one gets
    // that answer.
    await takeMail(context, { takesWords: !isAnswered(session.state) });
    const stopped = await finishOpenCalls(context);
    if (stopped !== undefined) return { stopReason: stopped };
    if (limits.iterations > 0) {
      await runAfter(context, "afterIteration", { state: session.state, iteration: limits.iterations });
    }
    if (isAnswered(session.state)) {
      const ending = await judgeAnswer(context);
      if (ending !== "ask again") return ending;
    }
    const reached = await reasonToStop(context);
    if (reached !== undefined) return reached;
    await takeMail(context);
    if (context.signal.aborted) return { stopReason: cutOffReason(context.signal) };
    const iteration = limits.countIteration();
    emit({ type: "iteration-start", iteration, turn: turnOf(session.state) });
    await parts.hooks.beforeIteration?.({ state: session.state, iteration });
    const message = await askModel(context);
    session.throwIfFailed();
    if (context.signal.aborted) return { stopReason: cutOffReason(context.signal) };
    if (message === undefined || message.incomplete === true) return { stopReason: "incomplete" };
  }
}

async function reasonToStop(context: RunContext): Promise<Ending | undefined> {
  if (context.signal.aborted) return { stopReason: cutOffReason(context.signal) };
  if (context.isDraining()) return { stopReason: "drained" };
  return context.limits.reached(context.session.state);
}

/** Brings every open call of the last model message to its end. Says why the run must stop here, if it must. */
export async function finishOpenCalls(context: RunContext): Promise<StopReason | undefined> {
  const { session, limits, signal } = context;
  const calls = openCalls(session.state);
  // Begun by another run: the lease holder knows whether that one is dead.
  if (calls.some(({ execution }) => execution.status === "started")) await session.hold();
  await inParallel(context, calls);
  session.throwIfFailed();
  if (openCalls(session.state).length > 0) {
    if (unansweredIn(session.state).length > 0) return "pending";
    if (signal.aborted) return cutOffReason(signal);
    if (externalCallsIn(session.state).length > 0) return "pending";
    throw new StateError("UNKNOWN", "a tool call was left open; run the thread again without a prompt to settle it");
  }
  if (calls.length > 0) {
    const names = calls.map(({ call }) => call.name);
    limits.countCalls(
      names,
      calls.map(({ call }) => `${argumentsHash(call)}\n${resultOf(session.state, call.id)}`).join("\n"),
    );
  }
  return endedByTerminalTool(context) ? "terminal-tool" : undefined;
}

/** What the model is shown of a call's result. */
function resultOf({ messages }: AgentState, toolCallId: string): string {
  const result = messages.findLast((message) => message.role === "tool" && message.toolCallId === toolCallId);
  return result === undefined ? "" : encodeText(result.content, "result");
}

/** Limited in number. Waits for all of them even if one fails: the others' outcomes must not be lost. */
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
export function endedByTerminalTool(context: RunContext): boolean {
  const last = context.session.state.messages.findLast((message) => message.role !== "tool");
  return last !== undefined && isEndedBy(context, last);
}

/** Whether a call of this message ended its turn: also one of a tool that has another name since. */
export function isEndedBy({ session, parts }: RunContext, message: Message): boolean {
  if (message.role !== "assistant") return false;
  const { toolExecutions } = session.state;
  return (message.toolCalls ?? []).some(({ id, name }) => {
    const entry = toolExecutions[callAt(toolExecutions, id)];
    return entry?.status === "succeeded" && (entry.terminal === true || parts.tools.get(name)?.terminal === true);
  });
}

/** Whether the last turn is over: the model spoke last, completely, and asked for nothing. */
export function isAnswered(state: AgentState): boolean {
  const last = state.messages.at(-1);
  return last?.role === "assistant" && (last.toolCalls ?? []).length === 0 && last.incomplete !== true;
}
