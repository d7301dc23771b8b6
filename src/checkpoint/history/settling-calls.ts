import { StateError } from "../../errors.ts";
import { assertKnownOptions, described, type OptionKinds } from "../../internal/known-options.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { isInDoubt } from "../../state/call-facts.ts";
import type { ToolExecution } from "../../state/fields.ts";
import { type ToolMessage, toolMessage } from "../../state/message.ts";
import { externalIdOf } from "../../state/pending.ts";
import type { BaseCheckpointer } from "../base-checkpointer.ts";
import type { Answer } from "../signals/signal.ts";
import { loadState } from "../thread/loaded-state.ts";
import { mayBeThereAlready } from "../thread/thread.ts";

/** How a call in doubt ended, as a person found out. */
export interface CallSettlement {
  /** "done": it took effect. "not-done": it did not, and will not. */
  readonly outcome: "done" | "not-done";
  /** Who says so; kept with the call. */
  readonly by: string;
  /** How it was found out; kept with the call and told to the model. */
  readonly reason?: string;
  /** What the tool would have returned, for the model. */
  readonly result?: string;
}

const SETTLEMENT: OptionKinds<CallSettlement> = { outcome: "string", by: "string", reason: "string", result: "string" };

/**
 * One conditional save where no process runs the thread; else the run is told by a signal, and writes it down. Either way
 * nothing of the run is overwritten.
 */
export async function settleCall(
  checkpointer: BaseCheckpointer,
  threadId: string,
  toolCallId: string,
  settlement: CallSettlement,
): Promise<void> {
  assertSettlement(settlement);
  const state = await loadState(checkpointer, threadId);
  const execution = state?.toolExecutions.findLast((entry) => entry.toolCallId === toolCallId);
  if (state === undefined || execution === undefined) {
    const which = `thread ${JSON.stringify(threadId)} has no call ${JSON.stringify(toolCallId)}`;
    throw new StateError("NOT_FOUND", which, { threadId });
  }
  if (!isInDoubt(execution)) {
    const which = `the call ${JSON.stringify(toolCallId)} of ${execution.toolName} is not in doubt: it is ${execution.status}`;
    throw new StateError("CONFLICT", which, { threadId });
  }
  const metadata = checkpointer.capabilities.listWithMetadata
    ? await checkpointer.getMetadata(threadId)
    : state.metadata;
  try {
    await checkpointer.save(settledCall(state, execution, settlement), threadId, {
      ...(metadata !== undefined && { metadata }),
    });
  } catch (error) {
    const isUnderWay = StateError.is(error, "CONFLICT") && !mayBeThereAlready(error);
    if (!isUnderWay || !checkpointer.capabilities.conditionalSave) throw error;
    await checkpointer.send(threadId, { answer: answerOf(toolCallId, settlement) });
  }
}

/** The same as an answer to the call. */
function answerOf(toolCallId: string, { outcome, by, reason, result }: CallSettlement): Answer {
  const id = externalIdOf(toolCallId);
  if (outcome === "not-done") return { id, decline: reason ?? true, by };
  return { id, response: result, by, ...(reason !== undefined && { reason }) };
}

function assertSettlement(settlement: CallSettlement): void {
  const where = "settleCall()";
  if (typeof settlement !== "object" || settlement === null) {
    throw new TypeError(`${where} takes { outcome, by, reason } last, not ${described(settlement)}`);
  }
  assertKnownOptions(where, settlement, SETTLEMENT);
  const { outcome, by } = settlement;
  if (outcome !== "done" && outcome !== "not-done") {
    throw new StateError("INVALID_ARGUMENT", `${where}: outcome must be "done" or "not-done"`);
  }
  if (typeof by !== "string" || by.trim() === "") {
    throw new StateError("INVALID_ARGUMENT", `${where}: by must name who says so`);
  }
}

/**
 * Changes the ledger and the conversation together: what the model was told about
 * the doubt is replaced by what is known now.
 */
export function settledCall(
  state: AgentState,
  execution: ToolExecution,
  { outcome, by, reason, result }: Omit<CallSettlement, "by"> & { readonly by?: string | undefined },
): AgentState {
  const isDone = outcome === "done";
  const { toolCallId, toolName } = execution;
  const why = reason === undefined ? "" : ` The reason: ${reason}`;
  const verdict = isDone ? "it took effect" : "it did not take effect";
  const text = `A person found out how this call ended: ${verdict}.${why}${result === undefined ? "" : ` The result: ${result}`}`;
  const told: ToolMessage = toolMessage(text, { toolCallId, toolName, ...(!isDone && { isError: true }) });
  const { error: _, ...entry } = execution;
  const known = state.messages.findLastIndex((message) => message.role === "tool" && message.toolCallId === toolCallId);
  const spoken = known === -1 ? state.withMessage(told) : state.withHistory(state.messages.with(known, told));
  return spoken.withToolExecution({
    ...entry,
    status: isDone ? "succeeded" : "failed",
    ...(!isDone && { error: text }),
    settledBy: { by: by ?? "a person", ...(reason !== undefined && { reason }) },
  });
}
