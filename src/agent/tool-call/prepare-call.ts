import { reasonOf } from "../../errors.ts";
import { untilAborted } from "../../internal/time.ts";
import type { ToolExecution } from "../../state/fields.ts";
import type { ToolCall } from "../../state/message.ts";
import { type PendingCall, pendingIn } from "../../state/pending.ts";
import { guardedCall } from "../guards.ts";
import type { RunContext } from "../run/run-context.ts";
import { callPlace, toolContext } from "./attempt-call.ts";
import { type Approval, approvalIdOf } from "./interrupts.ts";
import { overdue } from "./later.ts";
import { argumentsHash, earlierSuccess, type LedgerCall } from "./ledger.ts";
import type { CallPlace, Tool, VerifiedOutcome } from "./tool.ts";
import { failure, type Outcome, READ_RESULT, success } from "./tool-result.ts";

/** What becomes of a call: it waits, it has an outcome without being run, or it may be run. */
export type Prepared =
  | "waiting"
  | { readonly outcome: Outcome }
  | { readonly tool: Tool; readonly input: unknown; readonly call: ToolCall };

/** Decides whether a call may run, from wherever the ledger says it stands. */
export async function prepare(context: RunContext, ledgerCall: LedgerCall): Promise<Prepared> {
  const { parts, session } = context;
  const { execution } = ledgerCall;
  if (execution.status === "waiting" && hasOpenQuestion(context, execution)) return "waiting";
  // A sub-agent is asked how far it is.
  if (execution.status === "pending" && parts.tools.get(ledgerCall.call.name)?.delegate === undefined) {
    const outcome = overdue(execution, context.parts.now());
    return outcome === undefined ? "waiting" : { outcome };
  }
  const declined = declinedQuestion(context, execution);
  if (declined !== undefined) return { outcome: declined };
  const answered = approvalOf(context, execution);
  if (answered?.decision === "deny") {
    const reason = answered.reason === undefined ? "" : ` The reason: ${answered.reason}`;
    const approvalId = approvalIdOf(execution.toolCallId);
    return { outcome: { status: "denied", content: `A person refused this call.${reason}`, approvalId } };
  }
  const call = callToRun(ledgerCall, answered);
  const tool = parts.tools.get(call.name);
  if (tool === undefined) return cannotRun(execution, unknownTool(call, parts.tools));
  if (call.invalid !== undefined) return { outcome: failure(call.invalid) };
  if (call === ledgerCall.call && execution.argumentsHash !== argumentsHash(call)) {
    return cannotRun(execution, "The call was changed after it was recorded, so it is not run.");
  }
  const checked = await tool.schema.check(call.arguments).catch(couldNotCheck);
  if ("faults" in checked) return cannotRun(execution, `The arguments do not fit: ${checked.faults.join("; ")}`);
  const input = checked.value;
  const earlier = tool.reusesResult ? earlierSuccess(session.state, call) : undefined;
  const known =
    earlier &&
    session.state.messages.find((message) => message.role === "tool" && message.toolCallId === earlier.toolCallId);
  if (known !== undefined) return { outcome: { status: "succeeded", content: known.content } };
  if (execution.status === "started") return afterCrash(context, tool, input, call, execution);
  if (answered === undefined && execution.status === "intended") {
    const needed = await decideApproval(tool, input, callPlace(context, call));
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
async function decideApproval(tool: Tool, input: unknown, place: CallPlace): Promise<boolean | string> {
  try {
    return await tool.needsApproval(input, place);
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
  // The effect at the time of the attempt counts too: a tool that was made harmless since did not make that attempt harmless.
  if (tool.effect !== "atMostOnce" && execution.effect !== "atMostOnce") return { tool, input, call };
  const verified = await verify(context, tool, input, call, execution);
  // If the run was aborted during the check, nothing was learned: the call stays open for the next run.
  if (verified === undefined && context.signal.aborted) return "waiting";
  if (verified?.outcome === "done") return { outcome: success(verified.result) };
  if (verified?.outcome === "not-done") return { tool, input, call };
  return { outcome: { status: "unknown", content: CUT_OFF } };
}

const CUT_OFF =
  "This call was begun and then cut off; its outcome is unknown. It may have taken effect: verify before repeating it.";

/** A call that this program cannot run, since a deployment or an erasure, may have taken effect when it was begun. */
const cannotRun = ({ status }: ToolExecution, why: string): Prepared =>
  status === "started" ? { outcome: { status: "unknown", content: `${CUT_OFF} ${why}` } } : { outcome: failure(why) };

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
    id: approvalIdOf(call.id),
    toolCallId: call.id,
    kind: "approval" as const,
    question: `May ${call.name} be called with ${JSON.stringify(call.arguments)}?`,
    askedAt: context.parts.now(),
  };
  context.session.change((state) =>
    state.withInterrupt(interrupt).withToolExecution({ ...execution, status: "waiting" }),
  );
  context.session.saveBeside();
  announce(context, ({ id }) => id === interrupt.id);
  return "waiting";
}

/** Says what of a call waits now. */
export function announce({ session, emit }: RunContext, isNew: (pending: PendingCall) => boolean): void {
  for (const call of pendingIn(session.state)) if (isNew(call)) emit({ type: "pending", call });
}

function approvalOf({ session }: RunContext, execution: ToolExecution): Approval | undefined {
  const id = approvalIdOf(execution.toolCallId);
  return session.state.interrupts.find((interrupt) => interrupt.id === id)?.answer?.value as Approval | undefined;
}

function declinedQuestion({ session }: RunContext, { toolCallId }: ToolExecution): Outcome | undefined {
  const found = session.state.interrupts.find(
    (one) => one.toolCallId === toolCallId && one.answer?.declined === true && one.child === undefined,
  );
  if (found === undefined) return undefined;
  const reason = found.answer?.reason === undefined ? "" : ` The reason: ${found.answer.reason}`;
  return { status: "denied", content: `A person declined to answer: ${found.question}${reason}` };
}

const hasOpenQuestion = ({ session }: RunContext, execution: ToolExecution): boolean =>
  session.state.interrupts.some(
    (interrupt) => interrupt.toolCallId === execution.toolCallId && interrupt.answer === undefined,
  );

/** The tool for reading large results is there for all agents, and does not stand for any that was meant. */
const unknownTool = (call: ToolCall, tools: ReadonlyMap<string, Tool>): string => {
  const names = [...tools.keys()].filter((name) => name !== READ_RESULT);
  return `There is no tool named ${JSON.stringify(call.name)}. Available: ${names.join(", ") || "none"}.`;
};
