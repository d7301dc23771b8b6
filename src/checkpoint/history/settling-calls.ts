import { StateError } from "../../errors.ts";
import { assertKnownOptions, described, type OptionKinds } from "../../internal/known-options.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { isInDoubt } from "../../state/call-facts.ts";
import type { ToolExecution } from "../../state/fields.ts";
import { type ToolMessage, toolMessage } from "../../state/message.ts";
import type { BaseCheckpointer } from "../base-checkpointer.ts";
import { loadState } from "../thread/loaded-state.ts";

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

/** One conditional save: a run of the thread is not overwritten, and its lease is respected. */
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
  await checkpointer.save(settled(state, execution, settlement), threadId, {
    ...(metadata !== undefined && { metadata }),
  });
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
function settled(
  state: AgentState,
  execution: ToolExecution,
  { outcome, by, reason, result }: CallSettlement,
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
    settledBy: { by, ...(reason !== undefined && { reason }) },
  });
}
