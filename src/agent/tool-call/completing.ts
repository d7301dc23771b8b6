import { settledCall } from "../../checkpoint/history/settling-calls.ts";
import { loadState } from "../../checkpoint/thread/loaded-state.ts";
import { reasonOf, StateError } from "../../errors.ts";
import type { AnySchema } from "../../models/schema.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { ToolExecution } from "../../state/fields.ts";
import { externalCallOf } from "../../state/pending.ts";
import type { SignalPart } from "../../state/people/personal-fields.ts";
import { isSettled } from "../../state/tool-calls.ts";
import { canonicalJson, encodeText } from "../../state/values/codec.ts";
import { refuse } from "../run/mail.ts";
import type { RunContext } from "../run/run-context.ts";
import type { RunOptions } from "../run-options.ts";
import { answerInterrupt, type PersonAnswer } from "./interrupts.ts";
import { openCalls } from "./ledger.ts";
import { close } from "./run-call.ts";
import { failure, type Outcome, success } from "./tool-result.ts";

/** The outcome of a call that a tool began and that another process completes. */
export interface CompleteOptions<Runtime = unknown, Result = unknown, Schema extends AnySchema = AnySchema>
  extends Omit<RunOptions<Runtime, Schema>, "declinePending" | "messageId" | "backTo" | "subject"> {
  readonly threadId: string;
  readonly toolCallId: string;
  /** What the tool would have returned. */
  readonly result?: Result;
  /** In place of a result: why there is no result. */
  readonly error?: unknown;
}

/** The same outcome as a part of a signal. */
export const outcomePart = (options: CompleteOptions): SignalPart =>
  "error" in options
    ? { toolCallId: options.toolCallId, error: reasonOf(options.error) }
    : { toolCallId: options.toolCallId, value: options.result };

/** What an answer comes with: the id of the signal that it was sent in, which is consumed together with its effect. */
interface Sent {
  readonly signalId?: string;
  readonly consumes: readonly string[];
}

const NOT_SENT: Sent = { consumes: [] };

/** Takes in answers that another process sent, in their order. One that is refused concerns its sender alone. */
export async function answerWaiting(
  context: RunContext,
  { id, answers }: { readonly id: string; readonly answers: readonly SignalPart[] },
): Promise<void> {
  for (const [index, part] of answers.entries()) {
    const isLast = index === answers.length - 1;
    try {
      await takeAnswer(context, part, { signalId: id, consumes: isLast ? [id] : [] });
    } catch (error) {
      if (!StateError.is(error) || error.code === "CLOSED" || error.retryable) throw error;
      refuse(context, id, error, isLast);
    }
  }
}

/** Writes one answer or outcome into the state. Throws where it does not fit what waits. */
export async function takeAnswer(context: RunContext, part: SignalPart, sent: Sent = NOT_SENT): Promise<void> {
  const { session, parts } = context;
  const { id, toolCallId = externalCallOf(session.state, id) } = part;
  if (toolCallId !== undefined) return bringOutcome(context, toolCallId, part, sent);
  if (id === undefined) throw new StateError("INVALID_ARGUMENT", "an answer names what it is for: its id");
  const { answer } = session.state.interrupts.find((interrupt) => interrupt.id === id) ?? {};
  if (answer !== undefined && sent.signalId !== undefined && isSameAnswer(answer, part)) {
    session.change((state) => state.with({}), sent.consumes);
    return;
  }
  const why = part.reason === undefined ? {} : { reason: part.reason };
  const who = part.by === undefined ? {} : { by: part.by };
  const given: PersonAnswer =
    part.declined === true ? { declined: true, ...why, ...who } : { value: part.value, ...who };
  const answered = await answerInterrupt(session.state, id, given, { now: parts.now(), tools: parts.tools });
  session.change(() => answered, sent.consumes);
}

const isSameAnswer = (
  { value, declined = false }: { readonly value: unknown; readonly declined?: boolean },
  part: SignalPart,
): boolean =>
  declined === (part.declined === true) &&
  (declined || encodeText(value, "answer") === encodeText(part.value, "answer"));

/** Settles the call, durably before it is shown, and continues the turn. The same outcome twice counts once. */
async function bringOutcome(
  context: RunContext,
  toolCallId: string,
  part: SignalPart,
  { signalId, consumes }: Sent,
): Promise<void> {
  const { session, checkpointer } = context;
  const outcome = outcomeOf(part);
  const calls = openCalls(session.state);
  const open = calls.find(({ call }) => call.id === toolCallId);
  const delegating = open === undefined ? calls.find(({ execution }) => waits(execution, toolCallId)) : undefined;
  if (delegating !== undefined) {
    // It is recorded in the sub-agent's own thread; this one continues with its result.
    const { call, execution } = delegating;
    const own = toolCallId.slice(call.id.length + 1);
    const { error, value: result } = part;
    const given = error === undefined ? { toolCallId: own, result } : { toolCallId: own, error };
    if (signalId === undefined) context.handedDown.set(call.id, given);
    else {
      const to = { id: `${signalId}/${own}` };
      try {
        await checkpointer?.send(execution.childThreadId ?? "", { result: given }, to);
      } catch (error) {
        if (!StateError.is(error, "TOO_LARGE")) throw error;
        // Its mailbox is full. A run of it empties that, and is given this outcome by hand. The signal stays until a run
        // finds the call settled.
        context.handedDown.set(call.id, given);
        return;
      }
    }
    if (consumes.length > 0) session.change((state) => state.with({}), consumes);
    return;
  }
  if (open === undefined) {
    const doubtful = session.state.toolExecutions.findLast((entry) => entry.toolCallId === toolCallId);
    if (doubtful?.status === "unknown") {
      session.change((state) => settledCall(state, doubtful, settlementOf(part)), consumes);
      return;
    }
    await assertRepeated(context, toolCallId, outcome);
    if (consumes.length > 0) session.change((state) => state.with({}), consumes);
    return;
  }
  // A process that died before it recorded the call as pending left it as begun.
  if (open.execution.status !== "pending" && open.execution.status !== "started") throw notBegun(open.execution);
  await session.hold();
  await close(context, open, outcome, undefined, consumes);
}

function outcomeOf({ value, error, declined, reason }: SignalPart): Outcome {
  if (error !== undefined) return failure(error);
  if (declined !== true) return success(value);
  return failure(`A person gave this call up.${reason === undefined ? "" : ` The reason: ${reason}`}`);
}

/** What became of a call in doubt: it took effect, or it is known that it did not. */
function settlementOf({ value, error, declined, reason = error, by }: SignalPart): Parameters<typeof settledCall>[2] {
  const why = reason === undefined ? {} : { reason };
  if (declined === true || error !== undefined) return { outcome: "not-done", by, ...why };
  const result = value === undefined || value === null ? {} : { result: textOfOutcome(success(value)) };
  return { outcome: "done", by, ...why, ...result };
}

const textOfOutcome = ({ content }: Outcome): string =>
  typeof content === "string" ? content : encodeText(content, "result");

const waits = ({ waitsFor = [] }: ToolExecution, toolCallId: string): boolean =>
  waitsFor.some((call) => call.toolCallId === toolCallId);
/** A repeated outcome, as from a queue, is accepted; a different one comes too late. */
async function assertRepeated(
  {
    session,
    threadId,
    checkpointer,
  }: Pick<RunContext, "threadId" | "checkpointer"> & { readonly session: { readonly state: AgentState } },
  toolCallId: string,
  outcome: Outcome,
): Promise<void> {
  const { toolExecutions } = session.state;
  const execution = toolExecutions.findLast((entry) => entry.toolCallId === toolCallId);
  const delegating = execution === undefined && toolExecutions.findLast((entry) => waits(entry, toolCallId));
  if (delegating && delegating.childThreadId !== undefined && checkpointer !== undefined) {
    const state = await loadState(checkpointer, delegating.childThreadId);
    if (state !== undefined) {
      const child = { session: { state }, threadId: delegating.childThreadId, checkpointer };
      return assertRepeated(child, toolCallId.slice(delegating.toolCallId.length + 1), outcome);
    }
  }
  if (execution === undefined) {
    const which = `there is no call ${JSON.stringify(toolCallId)} in this thread`;
    throw new StateError("NOT_FOUND", which, threadId === undefined ? {} : { threadId });
  }
  const told = session.state.messages.findLast(
    (message) => message.role === "tool" && message.toolCallId === toolCallId,
  );
  const whole = session.state.artifacts[toolCallId] ?? told?.content;
  const isSame =
    execution.status === outcome.status && whole !== undefined && meaningOf(whole) === meaningOf(outcome.content);
  if (isSame) return;
  if (!isSettled(execution)) throw notBegun(execution);
  throw new StateError(
    "CONFLICT",
    `the call ${JSON.stringify(toolCallId)} is settled already: it is ${execution.status}`,
  );
}

/** A queue may write the same result with its keys in another order. */
function meaningOf(content: Outcome["content"]): string {
  if (typeof content !== "string") return encodeText(content, "result");
  try {
    return canonicalJson(JSON.parse(content));
  } catch {
    return JSON.stringify(content);
  }
}

const notBegun = ({ toolCallId, status }: ToolExecution): StateError =>
  new StateError("CONFLICT", `the call ${JSON.stringify(toolCallId)} cannot be completed: it is ${status}`);
