import { loadState } from "../../checkpoint/thread/loaded-state.ts";
import { reasonOf, StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { ToolExecution } from "../../state/fields.ts";
import { isSettled } from "../../state/tool-calls.ts";
import { canonicalJson, encodeText } from "../../state/values/codec.ts";
import type { Opening } from "../run/opening.ts";
import type { RunContext } from "../run/run-context.ts";
import type { RunOptions } from "../run-options.ts";
import { openCalls } from "./ledger.ts";
import { close } from "./run-call.ts";
import { failure, type Outcome, success } from "./tool-result.ts";

/** The outcome of a call that a tool began and that another process completes. */
export interface CompleteOptions<Runtime = unknown, Result = unknown>
  extends Omit<RunOptions<Runtime>, "declineWaiting" | "messageId" | "backTo" | "subject"> {
  readonly threadId: string;
  readonly toolCallId: string;
  /** What the tool would have returned. */
  readonly result?: Result;
  /** In place of a result: why there is no result. */
  readonly error?: unknown;
}

/** Settles the call, durably before it is shown, and continues the turn. The same outcome twice counts once. */
export const completion =
  (options: CompleteOptions): Opening["begin"] =>
  async (context, adopt) => {
    const { session } = context;
    const outcome = "error" in options ? failure(reasonOf(options.error)) : success(options.result);
    const open = openCalls(session.state).find(({ call }) => call.id === options.toolCallId);
    const delegating =
      open === undefined ? openCalls(session.state).find(({ execution }) => waits(execution, options)) : undefined;
    if (delegating !== undefined) {
      // The sub-agent's own thread is where it is written down; this one goes on with what comes of it.
      const { id } = delegating.call;
      const toolCallId = options.toolCallId.slice(id.length + 1);
      const given = "error" in options ? { error: options.error } : { result: options.result };
      context.handedDown.set(id, { toolCallId, ...given });
      session.change(adopt);
      return undefined;
    }
    if (open === undefined) {
      await assertRepeated(context, options.toolCallId, outcome);
      session.change(adopt);
      if (session.isUnsaved) session.saveBeside();
      return undefined;
    }
    // A process that died before it recorded the call as pending left it as begun.
    if (open.execution.status !== "pending" && open.execution.status !== "started") throw notBegun(open.execution);
    await session.hold();
    session.change(adopt);
    await close(context, open, outcome);
    return undefined;
  };

const waits = ({ waitsFor = [] }: ToolExecution, { toolCallId }: Pick<CompleteOptions, "toolCallId">): boolean =>
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
  const delegating = execution === undefined && toolExecutions.findLast((entry) => waits(entry, { toolCallId }));
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
  const advice = execution.status === "unknown" ? "; checkpointer.settleCall() says how it ended after all" : "";
  throw new StateError(
    "CONFLICT",
    `the call ${JSON.stringify(toolCallId)} is settled already: it is ${execution.status}${advice}`,
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
  new StateError("CONFLICT", `the call ${JSON.stringify(toolCallId)} waits for nobody to complete it: it is ${status}`);
