import { sleep } from "../../internal/time.ts";
import type { ToolExecution } from "../../state/fields.ts";
import type { ToolCall } from "../../state/message.ts";
import { encodeText } from "../../state/values/codec.ts";
import { guardedResult } from "../guards.ts";
import { runAfter } from "../hooks.ts";
import type { RunContext } from "../run/run-context.ts";
import { callContent, toolSpan } from "../telemetry/gen-ai.ts";
import { attempt } from "./attempt-call.ts";
import { InterruptSignal } from "./interrupts.ts";
import { Later } from "./later.ts";
import { argumentsHash, type LedgerCall } from "./ledger.ts";
import { announce, type Prepared, prepare } from "./prepare-call.ts";
import { childThreadId } from "./sub-agent.ts";
import type { Tool } from "./tool.ts";
import { failure, type Outcome, settle, wordsOf } from "./tool-result.ts";

/**
 * Brings one call to its end, from wherever the ledger says it stands: decides
 * whether it may run, claims the attempt, runs it, and makes the outcome durable.
 * Leaves it open when a person must answer first or the run was cancelled.
 */
export async function runCall(context: RunContext, ledgerCall: LedgerCall): Promise<void> {
  const { call } = ledgerCall;
  if (context.parts.tools.get(call.name)?.reusesResult !== true) return bringToEnd(context, ledgerCall);
  // Two equal calls in one message: the second gets the result of the first, so it waits for it.
  const key = argumentsHash(call);
  const before = context.inFlight.get(key) ?? Promise.resolve();
  const work = before.catch(() => undefined).then(() => bringToEnd(context, ledgerCall));
  context.inFlight.set(key, work);
  await work;
}

/** Attempt after attempt, as often as the tool allows: each is claimed, and each failure is recorded before the next. */
async function bringToEnd(context: RunContext, ledgerCall: LedgerCall): Promise<void> {
  let execution: ToolExecution | undefined = ledgerCall.execution;
  while (execution !== undefined) execution = await tryCall(context, { ...ledgerCall, execution });
}

/** One attempt. Gives the entry from which another one is to be made, if so. */
async function tryCall(context: RunContext, ledgerCall: LedgerCall): Promise<ToolExecution | undefined> {
  const { parts, session, emit } = context;
  const begun = await beginCall(context, ledgerCall);
  if (begun === "waiting") return undefined;
  if ("outcome" in begun) return end(context, ledgerCall, begun.outcome);
  const { tool, input, call, started } = begun;
  const named = { toolCallId: call.id, toolName: call.name };
  emit({ type: "tool-start", ...named, arguments: input, attempt: started.attempts ?? 1 });
  const span = toolSpan(tool, call.id, started.attempts ?? 1);
  const outcome = await parts.telemetry.span(span, async (notes) => {
    if (!(await mayBegin(context, tool, ledgerCall.execution))) return "cancelled";
    const ended = await attempt(context, tool, input, call, started);
    const isOutcome = typeof ended === "object" && "status" in ended;
    if (isOutcome && ended.status !== "succeeded") notes.fail(ended.status);
    if (parts.telemetry.recordsContent) notes.set(callContent(input, isOutcome ? wordsOf(ended) : undefined));
    return ended;
  });
  if (outcome === "cancelled") return undefined;
  const entry = { call, execution: started };
  if (outcome instanceof InterruptSignal || outcome instanceof Later) {
    if (!context.isKept)
      return end(context, entry, failure(outcome instanceof Later ? NOTHING_KEPT : NOBODY_TO_ASK), tool);
    session.change((state) => outcome.waitingIn(state, started));
    session.saveBeside({ settles: outcome instanceof Later });
    const asked = outcome instanceof InterruptSignal ? outcome.interrupts.map(({ id }) => id) : [];
    const awaited = outcome instanceof Later ? [call.id, ...outcome.waitsFor.map((each) => each.toolCallId)] : [];
    announce(context, ({ id, toolCallId, kind, isInDoubt = false }) =>
      kind === "external" ? awaited.includes(toolCallId) && !isInDoubt : asked.includes(id),
    );
    return undefined;
  }
  const next = retried(tool, started, outcome, parts.now());
  if (next === undefined) {
    return end(context, entry, call === ledgerCall.call ? outcome : told(outcome, call), tool);
  }
  session.change((state) => state.withToolExecution(next));
  if (tool.effect !== "pure") session.saveBeside();
  emit({
    type: "tool-retry",
    ...named,
    attempt: started.attempts ?? 1,
    retryAt: next.retryAt ?? 0,
    error: wordsOf(outcome),
  });
  return next;
}

/**
 * The last look before the tool is called, with nothing between the two that waits: the claim was
 * saved, but since then the process may have slept and another may have taken the thread over.
 */
async function mayBegin({ session, signal }: RunContext, tool: Tool, before: ToolExecution): Promise<boolean> {
  if (tool.effect === "pure") return true;
  try {
    await session.confirmHold();
  } catch (error) {
    // It was not begun, and must not look as if it may have run.
    session.withdraw((state) => state.withToolExecution(before));
    throw error;
  }
  if (!signal.aborted) return true;
  session.change((state) => state.withToolExecution(before));
  session.saveBeside();
  return false;
}

type Begun =
  | Exclude<Prepared, { readonly tool: Tool }>
  | (Extract<Prepared, { readonly tool: Tool }> & { readonly started: ToolExecution });

/** Everything before the tool itself is called. Writes that gather wait for it: the claim shall come with the model's message. */
async function beginCall(context: RunContext, ledgerCall: LedgerCall): Promise<Begun> {
  const { execution } = ledgerCall;
  const claimed = context.session.expectSave();
  try {
    const prepared = await prepare(context, ledgerCall);
    if (prepared === "waiting" || "outcome" in prepared) return prepared;
    const { tool, call } = prepared;
    if (execution.retryAt !== undefined) claimed();
    if (!(await untilDue(context, tool, execution))) return "waiting";
    await context.parts.hooks.beforeTool?.({ call, execution });
    const started = await claim(context, { call, execution }, tool, claimed);
    return started === "cancelled" ? "waiting" : { ...prepared, started };
  } finally {
    claimed();
  }
}

async function end(...closing: Parameters<typeof close>): Promise<undefined> {
  await close(...closing);
}

/** The conversation shows what the model asked for, so the result says what was done instead. */
function told(outcome: Outcome, call: ToolCall): Outcome {
  const { content } = outcome;
  const changed = `The arguments were changed to ${encodeText(call.arguments, "arguments")}. `;
  if (typeof content === "string") return { ...outcome, content: changed + content };
  return { ...outcome, content: [{ type: "text", text: changed }, ...content] };
}

const NOBODY_TO_ASK =
  "This tool asks a person, and this run has no thread in which the question could wait. It was not answered.";
const NOTHING_KEPT =
  "This tool's outcome arrives later, from outside the run, and this run has no thread in which to wait for it.";

/**
 * The process whose claim is saved owns the attempt: a second process that resumes
 * the same thread is refused here. Claims of calls that begin together, and the
 * model's message that asks for them, are one write.
 */
async function claim(
  context: RunContext,
  { call, execution }: LedgerCall,
  tool: Tool,
  claimed: () => void,
): Promise<ToolExecution | "cancelled"> {
  const { session, parts, signal } = context;
  const attempts = (execution.attempts ?? 0) + 1;
  // A person may have edited the arguments: what counts from here on is what is done.
  const hash = argumentsHash(call);
  const isChanged = hash !== execution.argumentsHash;
  const recorded = { ...execution, argumentsHash: hash, ...(isChanged && { arguments: call.arguments }) };
  const { retryAt: _, dueAt: __, ...entry } = recorded;
  const { threadId, isKept } = context;
  const hasChild = tool.delegate !== undefined && isKept && threadId !== undefined;
  const child = hasChild ? { childThreadId: childThreadId(threadId, entry.idempotencyKey ?? call.id) } : {};
  const started: ToolExecution = { ...entry, ...child, status: "started", attempts, startedAt: parts.now() };
  if (tool.effect === "pure") return started;
  session.change((state) => state.withToolExecution(started));
  try {
    const saved = session.save({ gathers: true });
    claimed();
    await saved;
    session.throwIfFailed();
  } catch (error) {
    // It was not begun, and must not look as if it may have run.
    session.withdraw((state) => state.withToolExecution(execution));
    throw error;
  }
  if (!signal.aborted) return started;
  session.change((state) => state.withToolExecution(execution));
  session.saveBeside();
  return "cancelled";
}

/**
 * Makes an outcome durable: on its own, without waiting for the other calls of the same turn, and while the run
 * continues.
 */
export async function close(
  context: RunContext,
  { call, execution }: LedgerCall,
  given: Outcome,
  tool: Tool | undefined = context.parts.tools.get(call.name),
  consumes: readonly string[] = [],
): Promise<void> {
  const { parts, session, emit } = context;
  const outcome = await guardedResult(context, call, given);
  const options = { now: parts.now(), maxResultChars: parts.maxResultChars };
  session.change((state) => settle(state, call, execution, outcome, options), consumes);
  const hasEffects = tool?.effect !== "pure";
  if (hasEffects || parts.saveEvery === 1) session.saveBeside({ settles: hasEffects });
  const ended = { type: "tool-end", toolCallId: call.id, toolName: call.name, arguments: call.arguments } as const;
  const { status, returned, approvalId } = outcome;
  if (status !== "succeeded") emit({ ...ended, status, ...(approvalId !== undefined && { approvalId }) });
  else emit({ ...ended, status, ...(returned !== undefined && { result: returned }) });
  const message = session.state.messages.findLast((entry) => entry.role === "tool" && entry.toolCallId === call.id);
  if (message !== undefined) emit({ type: "message", message });
  await runAfter(context, "afterTool", { call, execution: { ...execution, status: outcome.status } });
}

/** The entry of a call that is to be tried again, with what failed; `undefined` where that was its end. */
function retried({ retry }: Tool, started: ToolExecution, outcome: Outcome, now: number): ToolExecution | undefined {
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
async function untilDue({ parts, signal }: RunContext, { retry }: Tool, execution: ToolExecution): Promise<boolean> {
  const { retryAt, attempts = 1, status } = execution;
  if (retryAt === undefined || status !== "intended" || retry === undefined) return true;
  const pause = Math.min(retryAt - parts.now(), retry.pauseMs(attempts));
  if (pause > 0) await sleep(pause, signal).catch(() => undefined);
  return !signal.aborted;
}
