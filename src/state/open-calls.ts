import { type AgentState, heldFieldsOf } from "./agent-state.ts";
import { callAt } from "./call-facts.ts";
import { type Message, type ToolCall, toolMessage } from "./message.ts";
import type { StateFields, ToolExecution } from "./state-fields.ts";
import type { ListEnd } from "./values/grown-list.ts";

/** A call of the latest model message that has no outcome, and its entry in the ledger. */
export interface OpenCall {
  readonly call: ToolCall;
  /** Missing for a call that the ledger never saw, in a thread that was imported or edited. */
  readonly execution: ToolExecution | undefined;
}

const SETTLED: ReadonlySet<ToolExecution["status"]> = new Set(["succeeded", "failed", "unknown", "denied"]);

export const isSettled = ({ status }: ToolExecution): boolean => SETTLED.has(status);

/** The calls of the latest model message that have no outcome yet: what a turn still has to do. */
export function openCallsIn({
  messages,
  toolExecutions,
}: {
  readonly messages: ListEnd<Message>;
  readonly toolExecutions: StateFields["toolExecutions"];
}): OpenCall[] {
  const message = messages.findLast((candidate) => candidate.role === "assistant");
  if (message?.role !== "assistant") return [];
  const open: OpenCall[] = [];
  for (const call of message.toolCalls ?? []) {
    const execution = toolExecutions[callAt(toolExecutions, call.id)];
    if (execution === undefined ? !hasResult(messages, call) : !isSettled(execution)) open.push({ call, execution });
  }
  return open;
}

const hasResult = (messages: ListEnd<Message>, { id }: ToolCall): boolean =>
  messages.findLast((message) => message.role === "tool" && message.toolCallId === id) !== undefined;

/** What a thread made from another one does with the calls that are open there. */
export type OpenCallsPolicy = "settle" | "keep";

const NOT_RUN = "This call was not run here: this thread was made of another one, in which the call was still open.";
const BEGUN =
  "This call was begun in the thread that this one was made of; its outcome is not known here. It may have taken effect: verify before repeating it.";

/**
 * The state as another thread may have it. A call belongs to the thread that
 * asked for it: run in both threads with one key, it would act twice or be
 * mistaken for a repetition. So open calls are settled as not run, and those that
 * are kept get new keys. A call that was started is never kept, because only the
 * thread that started it can find out how it ended. Returns the same state if
 * nothing is open.
 */
export function forAnotherThread(
  state: AgentState,
  policy: OpenCallsPolicy,
  { now, newKey }: { readonly now: number; readonly newKey: () => string },
): AgentState {
  let next = state;
  for (const { call, execution } of openCallsIn(heldFieldsOf(state))) {
    const isBegun = execution === undefined || hasBegun(execution);
    const entry = { ...(execution ?? unrecorded(call)), idempotencyKey: newKey() };
    next = policy === "keep" && !isBegun ? next.withToolExecution(entry) : settled(next, call, entry, isBegun, now);
  }
  return next;
}

/** Somebody else has the work, or an attempt at it failed: it may have taken effect. */
const hasBegun = ({ status, failures = [] }: ToolExecution): boolean =>
  status === "started" || status === "pending" || failures.length > 0;

const unrecorded = (call: ToolCall): ToolExecution => ({
  toolCallId: call.id,
  toolName: call.name,
  status: "started",
});

function settled(
  state: AgentState,
  call: ToolCall,
  execution: ToolExecution,
  isBegun: boolean,
  now: number,
): AgentState {
  const text = isBegun ? BEGUN : NOT_RUN;
  const status = isBegun ? "unknown" : "failed";
  const isOfCall = ({ toolCallId, answer }: { toolCallId: string; answer?: unknown }): boolean =>
    toolCallId === call.id && answer === undefined;
  const answerable = state.interrupts.some(isOfCall)
    ? state.with({ interrupts: state.interrupts.filter((interrupt) => !isOfCall(interrupt)) })
    : state;
  return answerable
    .withMessage(toolMessage(text, { toolCallId: call.id, toolName: call.name, isError: true }))
    .withToolExecution({ ...execution, status, settledAt: now, error: text });
}
