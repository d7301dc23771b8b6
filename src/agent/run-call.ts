import { reasonOf } from "../internal/reason-of.ts";
import { untilAborted } from "../internal/until-aborted.ts";
import { encodeText } from "../state/codec.ts";
import type { ToolCall } from "../state/message.ts";
import type { ToolExecution } from "../state/state-fields.ts";
import { attempt, toolContext } from "./attempt-call.ts";
import { guardedCall, guardedResult } from "./guards.ts";
import { runAfter } from "./hooks.ts";
import { type Approval, InterruptSignal } from "./interrupts.ts";
import { argumentsHash, earlierSuccess, type LedgerCall } from "./ledger.ts";
import type { RunContext } from "./run-context.ts";
import type { Tool, VerifiedOutcome } from "./tool.ts";
import { failure, type Outcome, settle, success } from "./tool-result.ts";

/**
 * Brings one call to its end, from wherever the ledger says it stands: decides
 * whether it may run, claims the attempt, runs it, and makes the outcome durable.
 * Leaves it open when a person must answer first or the run was cancelled.
 */
export async function runCall(context: RunContext, ledgerCall: LedgerCall): Promise<void> {
  const { call } = ledgerCall;
  if (context.parts.tools.get(call.name)?.dedupe !== true) return bringToEnd(context, ledgerCall);
  // Two equal calls in one message: the second gets the result of the first, so it waits for it.
  const key = argumentsHash(call);
  const before = context.inFlight.get(key) ?? Promise.resolve();
  const work = before.catch(() => undefined).then(() => bringToEnd(context, ledgerCall));
  context.inFlight.set(key, work);
  await work;
}

async function bringToEnd(context: RunContext, ledgerCall: LedgerCall): Promise<void> {
  const { parts, session, emit } = context;
  const prepared = await prepare(context, ledgerCall);
  if (prepared === "waiting") return;
  if ("outcome" in prepared) return close(context, ledgerCall, prepared.outcome);
  const { tool, input, call } = prepared;
  await parts.hooks.beforeTool?.({ call, execution: ledgerCall.execution });
  const started = await claim(context, { call, execution: ledgerCall.execution }, tool);
  if (started === "cancelled") return;
  emit({
    type: "tool-start",
    toolCallId: call.id,
    toolName: call.name,
    arguments: input,
    attempt: started.attempts ?? 1,
  });
  const outcome = await parts.telemetry.span("tool", { "holdfast.tool": tool.name }, () =>
    attempt(context, tool, input, call, started),
  );
  if (outcome === "cancelled") return;
  const isEdited = call !== ledgerCall.call;
  if (outcome instanceof InterruptSignal && !context.isKept) {
    return close(context, { call, execution: started }, failure(NOBODY_TO_ASK), tool);
  }
  if (outcome instanceof InterruptSignal) {
    session.change((state) =>
      state.withInterrupt(outcome.interrupt).withToolExecution({ ...started, status: "waiting" }),
    );
    session.saveBeside();
    emit({ type: "interrupt", interrupt: outcome.interrupt });
    return;
  }
  await close(context, { call, execution: started }, isEdited ? told(outcome, call) : outcome, tool);
}

/** The conversation shows what the model asked for, so the result says what was done instead. */
const told = ({ status, content }: Outcome, call: ToolCall): Outcome => ({
  status,
  content: `The arguments were changed to ${encodeText(call.arguments, "arguments")}. ${content}`,
});

type Prepared =
  | "waiting"
  | { readonly outcome: Outcome }
  | { readonly tool: Tool; readonly input: unknown; readonly call: ToolCall };

async function prepare(context: RunContext, ledgerCall: LedgerCall): Promise<Prepared> {
  const { parts, session } = context;
  const { execution } = ledgerCall;
  if (execution.status === "waiting" && hasOpenQuestion(context, execution)) return "waiting";
  const declined = declinedQuestion(context, execution);
  if (declined !== undefined) return { outcome: declined };
  const answered = approvalOf(context, execution);
  if (answered?.decision === "deny") {
    const reason = answered.reason === undefined ? "" : ` The reason: ${answered.reason}`;
    return { outcome: { status: "denied", content: `A person refused this call.${reason}` } };
  }
  const call = callToRun(ledgerCall, answered);
  const tool = parts.tools.get(call.name);
  if (tool === undefined) return { outcome: failure(unknownTool(call, parts.tools)) };
  if (call.invalid !== undefined) return { outcome: failure(call.invalid) };
  if (call === ledgerCall.call && execution.argumentsHash !== argumentsHash(call)) {
    return { outcome: failure("The call was changed after it was recorded, so it was not run.") };
  }
  const checked = await tool.schema.check(call.arguments).catch(couldNotCheck);
  if ("faults" in checked) return { outcome: failure(`The arguments do not fit: ${checked.faults.join("; ")}`) };
  const input = checked.value;
  const earlier = tool.dedupe ? earlierSuccess(session.state, call) : undefined;
  const known =
    earlier &&
    session.state.messages.find((message) => message.role === "tool" && message.toolCallId === earlier.toolCallId);
  if (known !== undefined) return { outcome: { status: "succeeded", content: known.content as string } };
  if (execution.status === "started") return afterCrash(context, tool, input, call, execution);
  if (answered === undefined && execution.status === "intended") {
    const needed = await decideApproval(tool, input);
    if (typeof needed === "string") return { outcome: failure(needed) };
    if (needed) return askForApproval(context, call, execution);
  }
  return (execution.attempts ?? 0) > 0 ? { tool, input, call } : guarded(context, tool, input, call);
}

/** An edit of a person's, and what a guard put in their place before it was begun, count for what the model asked for. */
function callToRun({ call, execution }: LedgerCall, answered: Approval | undefined): ToolCall {
  if (execution.arguments !== undefined) return { ...call, arguments: execution.arguments };
  return answered?.decision === "edit" ? { ...call, arguments: answered.arguments } : call;
}

/** A call that was begun before was let pass then. */
async function guarded(context: RunContext, tool: Tool, input: unknown, call: ToolCall): Promise<Prepared> {
  const passed = await guardedCall(context, call);
  if ("status" in passed) return { outcome: passed };
  if (passed === call) return { tool, input, call };
  const checked = await tool.schema.check(passed.arguments).catch(couldNotCheck);
  if ("value" in checked) return { tool, input: checked.value, call: passed };
  return { outcome: failure(`The arguments that were put in place do not fit: ${checked.faults.join("; ")}`) };
}

const couldNotCheck = (error: unknown): { readonly faults: readonly string[] } => ({
  faults: [`they could not be checked (${reasonOf(error)})`],
});

/** Whether a person must agree, or why that could not be found out: then the call is not run. */
async function decideApproval(tool: Tool, input: unknown): Promise<boolean | string> {
  try {
    return await tool.needsApproval(input);
  } catch (error) {
    return `Whether this call needs a person's approval could not be found out: ${reasonOf(error)}`;
  }
}

/** Begun in another life and never settled: what the tool's effect allows. */
async function afterCrash(
  context: RunContext,
  tool: Tool,
  input: unknown,
  call: ToolCall,
  execution: ToolExecution,
): Promise<Prepared> {
  // What it was when it began counts as well: whoever made the tool harmless since did not make that attempt so.
  if (tool.effect !== "atMostOnce" && execution.effect !== "atMostOnce") return { tool, input, call };
  const verified = await verify(context, tool, input, call, execution);
  // Whoever was cut off while looking has found nothing out: the call stays open for the next who looks.
  if (verified === undefined && context.signal.aborted) return "waiting";
  if (verified?.outcome === "done") return { outcome: success(verified.result) };
  if (verified?.outcome === "not-done") return { tool, input, call };
  const content =
    "This call was begun and then cut off; its outcome is unknown. It may have taken effect: verify before repeating it.";
  return { outcome: { status: "unknown", content } };
}

/** A verification that fails has found nothing out. */
async function verify(
  context: RunContext,
  tool: Tool,
  input: unknown,
  call: ToolCall,
  execution: ToolExecution,
): Promise<VerifiedOutcome | undefined> {
  try {
    let giveUp: () => void = () => undefined;
    const gaveUp = new Promise<undefined>((resolve) => {
      giveUp = () => resolve(undefined);
    });
    // A person is not asked here: one who is needed to find out has not found out yet.
    const place = toolContext(context, call, execution, context.signal, giveUp);
    return await untilAborted(Promise.race([tool.verify?.(input, place), gaveUp]), context.signal);
  } catch (error) {
    context.emit({ type: "warning", where: `verify of ${tool.name}`, error });
    return undefined;
  }
}

async function askForApproval(context: RunContext, call: ToolCall, execution: ToolExecution): Promise<"waiting"> {
  const interrupt = {
    id: `${call.id}/approval`,
    toolCallId: call.id,
    kind: "approval" as const,
    question: `May ${call.name} be called with ${JSON.stringify(call.arguments)}?`,
    askedAt: context.parts.now(),
  };
  context.session.change((state) =>
    state.withInterrupt(interrupt).withToolExecution({ ...execution, status: "waiting" }),
  );
  context.session.saveBeside();
  context.emit({ type: "interrupt", interrupt });
  return "waiting";
}

function approvalOf({ session }: RunContext, execution: ToolExecution): Approval | undefined {
  const id = `${execution.toolCallId}/approval`;
  return session.state.interrupts.find((interrupt) => interrupt.id === id)?.answer?.value as Approval | undefined;
}

const NOBODY_TO_ASK =
  "This tool asks a person, and this run has no thread in which the question could wait. It was not answered.";

function declinedQuestion({ session }: RunContext, { toolCallId }: ToolExecution): Outcome | undefined {
  const found = session.state.interrupts.find((one) => one.toolCallId === toolCallId && one.answer?.declined === true);
  if (found === undefined) return undefined;
  const reason = found.answer?.reason === undefined ? "" : ` The reason: ${found.answer.reason}`;
  return { status: "denied", content: `A person declined to answer: ${found.question}${reason}` };
}

const hasOpenQuestion = ({ session }: RunContext, execution: ToolExecution): boolean =>
  session.state.interrupts.some(
    (interrupt) => interrupt.toolCallId === execution.toolCallId && interrupt.answer === undefined,
  );

/**
 * Whoever gets this saved owns the attempt: a second process that resumes the
 * same thread is refused here. Claims of calls that begin together, and the
 * model's message that asks for them, are one write.
 */
async function claim(
  context: RunContext,
  { call, execution }: LedgerCall,
  tool: Tool,
): Promise<ToolExecution | "cancelled"> {
  const { session, parts, signal } = context;
  const attempts = (execution.attempts ?? 0) + 1;
  // A person may have edited the arguments: what counts from here on is what is done.
  const hash = argumentsHash(call);
  const isChanged = hash !== execution.argumentsHash;
  const recorded = { ...execution, argumentsHash: hash, ...(isChanged && { arguments: call.arguments }) };
  const started: ToolExecution = { ...recorded, status: "started", attempts, startedAt: parts.now() };
  if (tool.effect === "pure") return started;
  session.change((state) => state.withToolExecution(started));
  try {
    await session.save({ gathers: true });
    session.throwIfFailed();
  } catch (error) {
    // It is not begun: nobody shall think that it may have run.
    session.withdraw((state) => state.withToolExecution(execution));
    throw error;
  }
  if (!signal.aborted) return started;
  session.change((state) => state.withToolExecution(execution));
  session.saveBeside();
  return "cancelled";
}

/** Makes an outcome durable: on its own, without waiting for the other calls of the same turn, and while the run goes on. */
async function close(
  context: RunContext,
  { call, execution }: LedgerCall,
  given: Outcome,
  tool: Tool | undefined = context.parts.tools.get(call.name),
): Promise<void> {
  const { parts, session, emit } = context;
  const outcome = await guardedResult(context, call, given);
  const options = { now: parts.now(), maxResultChars: parts.maxResultChars };
  session.change((state) => settle(state, call, execution, outcome, options));
  const hasEffects = tool?.effect !== "pure";
  if (hasEffects || parts.saveEvery === 1) session.saveBeside({ settles: hasEffects });
  emit({ type: "tool-end", toolCallId: call.id, toolName: call.name, status: outcome.status });
  const message = session.state.messages.findLast((entry) => entry.role === "tool" && entry.toolCallId === call.id);
  if (message !== undefined) emit({ type: "message", message });
  await runAfter(context, "afterTool", { call, execution: { ...execution, status: outcome.status } });
}

const unknownTool = (call: ToolCall, tools: ReadonlyMap<string, Tool>): string =>
  `There is no tool named ${JSON.stringify(call.name)}. Available: ${[...tools.keys()].join(", ") || "none"}.`;
