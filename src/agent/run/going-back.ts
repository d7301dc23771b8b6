import { loadState } from "../../checkpoint/thread/loaded-state.ts";
import { newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { callAt } from "../../state/call-facts.ts";
import type { ToolExecution } from "../../state/fields.ts";
import { type Message, toolMessage } from "../../state/message.ts";
import { forAnotherThread, isSettled, openCallsIn } from "../../state/tool-calls.ts";
import type { RunContext } from "./run-context.ts";

/**
 * The thread as it was at an earlier checkpoint, as its next state: the history
 * stays, and what happened since is in it. What tools did since is not undone
 * by this, so the ledger keeps it: a call in doubt stays in doubt. Totals count
 * on, and metadata that came later stays.
 */
function goneBack(head: AgentState, earlier: AgentState, now: number): AgentState {
  const settled = forAnotherThread(withOutcomesOf(head, earlier), "settle", { now, newKey: newId });
  const known = new Set(settled.toolExecutions.map(({ toolCallId }) => toolCallId));
  const since = head.toolExecutions
    .filter(({ toolCallId }) => !known.has(toolCallId))
    .map((entry) => ended(entry, now));
  const overlay = head.overlay === undefined && settled.overlay === undefined ? {} : { overlay: settled.overlay };
  return head.with({
    ...settled.fields,
    ...overlay,
    toolExecutions: [...settled.toolExecutions, ...since],
    totals: head.totals,
    metadata: { ...head.metadata, ...settled.metadata },
  });
}

/**
 * Calls that are open at the checkpoint and continued after it keep their present state: otherwise the model would
 * repeat what was done.
 */
function withOutcomesOf(head: AgentState, earlier: AgentState): AgentState {
  let next = earlier;
  for (const { call } of openCallsIn(earlier)) {
    const entry = head.toolExecutions[callAt(head.toolExecutions, call.id)];
    if (entry === undefined) continue;
    next = next.withToolExecution(entry);
    if (!isSettled(entry)) continue;
    const asked = next.interrupts.filter(({ toolCallId }) => toolCallId !== call.id);
    const answered = head.interrupts.filter(({ toolCallId, answer }) => toolCallId === call.id && answer !== undefined);
    const artifact = Object.hasOwn(head.artifacts, call.id) ? head.artifacts[call.id] : undefined;
    next = next.with({ interrupts: [...asked, ...answered] }).withMessage(outcomeIn(head, entry));
    if (artifact !== undefined) next = next.withArtifact(call.id, artifact);
  }
  return next;
}

function outcomeIn({ messages }: AgentState, { toolCallId, toolName, status, error }: ToolExecution): Message {
  const told = messages.findLast((message) => message.role === "tool" && message.toolCallId === toolCallId);
  const isError = status !== "succeeded";
  return (
    told ??
    toolMessage(error ?? `This call was made: it is ${status}.`, { toolCallId, toolName, ...(isError && { isError }) })
  );
}

/** A call whose message is gone cannot continue. */
function ended(entry: ToolExecution, now: number): ToolExecution {
  if (isSettled(entry)) return entry;
  const isBegun = entry.status === "started" || entry.status === "pending" || entry.failures !== undefined;
  const error = "The thread went back to a checkpoint before this call.";
  return { ...entry, status: isBegun ? "unknown" : "denied", settledAt: now, error };
}

/** Brings a run's thread back to a checkpoint of it, with the run's first save. Not for words that were said there already. */
export async function goBack(
  { session, checkpointer, threadId, parts }: RunContext,
  checkpointId: string,
  messageId: string | undefined,
): Promise<void> {
  if (checkpointer === undefined || threadId === undefined) {
    throw new StateError(
      "INVALID_ARGUMENT",
      "run(): backTo needs an agent with a checkpointer: without one nothing is kept",
    );
  }
  if (messageId !== undefined && session.state.messages.some(({ id }) => id === messageId)) return;
  const earlier = await loadState(checkpointer, threadId, { checkpointId });
  if (earlier === undefined) {
    const which = `thread ${JSON.stringify(threadId)} has no checkpoint ${JSON.stringify(checkpointId)} to go back to`;
    throw new StateError("NOT_FOUND", which, { threadId, checkpointId });
  }
  session.change((head) => goneBack(head, earlier, parts.now()));
}
