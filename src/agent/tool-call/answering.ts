import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { contextOf } from "../../checkpoint/context.ts";
import { answeredIn } from "../../checkpoint/find/inbox.ts";
import type { CallSettlement } from "../../checkpoint/history/settling-calls.ts";
import { isGraphs } from "../../checkpoint/record/record.ts";
import { isKnownSignal } from "../../checkpoint/signals/mailbox.ts";
import type { Answer } from "../../checkpoint/signals/signal.ts";
import { loadState } from "../../checkpoint/thread/loaded-state.ts";
import { Thread } from "../../checkpoint/thread/thread.ts";
import { StateError } from "../../errors.ts";
import { assertKnownOptions, type OptionKinds } from "../../internal/known-options.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { type PendingCall, pendingIn } from "../../state/pending.ts";
import { encodeText } from "../../state/values/codec.ts";
import { answerInterrupt, type PersonAnswer } from "./interrupts.ts";

export interface AnswerPendingOptions {
  /** Names the answers: sent again under the same id, they count once. @default a new id */
  readonly id?: string;
  /** Look whether the answers fit, and send nothing. @default false */
  readonly dryRun?: boolean;
}

const OPTIONS: OptionKinds<AnswerPendingOptions> = { id: "string", dryRun: "boolean" };

/**
 * Answers what waits in a thread, from any process and without running it: looks that each answer fits what waits, and
 * sends them as one signal. The run that is under way takes it in, or the next one. Of a call in doubt it is written down
 * at once where no process runs the thread; in the thread of a graph, the value lies ready for `graph.invoke(null, …)`.
 */
export async function answerPending(
  checkpointer: BaseCheckpointer,
  threadId: string,
  answers: Answer | readonly Answer[],
  options: AnswerPendingOptions = {},
): Promise<void> {
  assertKnownOptions("answerPending()", options, OPTIONS);
  const { id, dryRun = false } = options;
  const given = (Array.isArray(answers) ? answers : [answers]) as readonly Answer[];
  const context = contextOf(checkpointer);
  const tail = context && (await new Thread(context, threadId, "send").tail());
  if (context !== undefined && isGraphs(tail?.thread)) {
    const { answerGraph } = await import("../../checkpoint/graphs/graph-operations.ts");
    for (const answer of given) await answerGraph(context, threadId, answer, dryRun);
    return;
  }
  // A repetition, whose first answer was lost.
  if (id !== undefined && tail !== undefined && isKnownSignal(tail, id)) return;
  const state = await loadState(checkpointer, threadId);
  if (state === undefined) {
    throw new StateError("NOT_FOUND", `there is no thread ${JSON.stringify(threadId)}`, { threadId });
  }
  const now = context?.now() ?? 0;
  const fitting = await Promise.all(
    given.map(async (answer) => ({ answer, to: await answeredBy(state, answer, now) })),
  );
  const sentBefore = await answeredIn(context, threadId, state);
  for (const answer of given) if (sentBefore.has(answer.id)) throw answeredBefore(threadId, answer.id);
  if (dryRun) return;
  for (const { answer, to } of fitting) {
    if (to.isInDoubt) await checkpointer.settleCall(threadId, to.toolCallId, settlementIn(answer));
  }
  const sent = fitting.flatMap(({ answer, to }) => (to.isInDoubt ? [] : [answer]));
  if (sent.length > 0) await checkpointer.send(threadId, { answer: sent }, id === undefined ? {} : { id });
}

/** What an answer is for. Refuses one that fits nothing: its sender is still there to be told. */
async function answeredBy(state: AgentState, answer: Answer, now: number): Promise<PendingCall> {
  const pending = pendingIn(state, { isAbandoned: true }).find(({ id }) => id === answer.id);
  if (pending?.kind === "external") return pending;
  const given: PersonAnswer =
    "response" in answer
      ? { value: answer.response }
      : { declined: true, ...(typeof answer.decline === "string" && { reason: answer.decline }) };
  await answerInterrupt(state, answer.id, given, { now, tools: new Map() });
  if (pending !== undefined) return pending;
  throw new StateError("NOT_FOUND", `nothing waits under ${JSON.stringify(answer.id)}`);
}

const answeredBefore = (threadId: string, id: string): StateError =>
  new StateError(
    "CONFLICT",
    `an answer to ${JSON.stringify(id)} was sent before, and the thread's next run takes it in. Nothing was sent`,
    { threadId },
  );

function settlementIn(answer: Answer): CallSettlement {
  const { by = "a person" } = answer;
  if ("decline" in answer) {
    return { outcome: "not-done", by, ...(typeof answer.decline === "string" && { reason: answer.decline }) };
  }
  const { response, reason } = answer;
  const told = typeof response === "string" ? response : encodeText(response, "response");
  const result = response === null || response === undefined ? {} : { result: told };
  return { outcome: "done", by, ...(reason !== undefined && { reason }), ...result };
}
