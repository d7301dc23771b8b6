import { type AgentState, heldFieldsOf } from "./agent-state.ts";
import { callAt, countInDoubt, hasEndedTurn } from "./call-facts.ts";
import type { StateFields, ToolExecution } from "./fields.ts";
import { conversationOf, type ListEnd } from "./growing-list.ts";
import { type Message, type ToolCall, toolMessage } from "./message.ts";

/** A call of the latest model message that has no outcome, and its entry in the ledger. */
export interface OpenCall {
  readonly call: ToolCall;
  /** Missing for a call that the ledger never saw, in a thread that was imported or edited. */
  readonly execution: ToolExecution | undefined;
}

const SETTLED: ReadonlySet<ToolExecution["status"]> = new Set(["succeeded", "failed", "unknown", "denied"]);

export const isSettled = ({ status }: ToolExecution): boolean => SETTLED.has(status);

/** The calls of the latest model message that have no outcome yet: what a turn still has to do. */
export function openCallsIn(fields: Pick<StateFields, "messages" | "toolExecutions">): OpenCall[] {
  const messages: ListEnd<Message> = conversationOf(fields);
  const { toolExecutions } = fields;
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
  { now, newKey }: { readonly now: number; readonly newKey: (call: ToolCall) => string },
): AgentState {
  let next = state;
  for (const { call, execution } of openCallsIn(heldFieldsOf(state))) {
    const isBegun = execution === undefined || hasBegun(execution);
    const entry = { ...(execution ?? unrecorded(call)), idempotencyKey: newKey(call) };
    next = policy === "keep" && !isBegun ? next.withToolExecution(entry) : settled(next, call, entry, isBegun, now);
  }
  return next;
}

/**
 * Work outside this process has the call, or an attempt at it failed: it may have taken
 * effect.
 */
export const hasBegun = ({ status, failures = [] }: ToolExecution): boolean =>
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

/** What a thread waits for. Counts of 0 are left out. */
export interface Standing {
  /** Questions to people, and calls whose outcome comes from outside. */
  readonly waiting?: number;
  /** Tool calls without an outcome, including those that wait for a person. */
  readonly open?: number;
  /** When the first of the calls that work outside this process must complete is overdue. */
  readonly dueAt?: number;
  /** Calls that were started and whose outcome is unknown. */
  readonly inDoubt?: number;
  /** The last turn did not finish. */
  readonly unfinished?: true;
  /** It was ended deliberately: by a limit of its run or by its caller. */
  readonly stopped?: true;
}

/** The key under which a state keeps why its last run ended before the turn was over. */
export const STOPPED_KEY = "holdfast.stopped";

/** A state, or its fields. */
type StandingFields = Pick<StateFields, "messages" | "toolExecutions" | "interrupts" | "providerState">;

/** What a listing can say about a state without reading it; `undefined` if it waits for nothing. */
export function standingOf(fields: StandingFields): Standing | undefined {
  const openCalls = openCallsIn(fields);
  const pending = openCalls.flatMap(({ execution }) => (execution?.status === "pending" ? [execution] : []));
  const waiting = fields.interrupts.filter(({ answer }) => answer === undefined).length + pending.length;
  const open = openCalls.length;
  const inDoubt = fields.toolExecutions.length === 0 ? 0 : countInDoubt(fields.toolExecutions);
  const isUnfinished = open > 0 || !isTurnOver(fields);
  if (waiting + inDoubt === 0 && !isUnfinished) return undefined;
  const dueAt = Math.min(...pending.map((execution) => execution.dueAt ?? Number.POSITIVE_INFINITY));
  const isStopped = isUnfinished && fields.providerState[STOPPED_KEY] !== undefined;
  return {
    ...(waiting > 0 && { waiting }),
    ...(open > 0 && { open }),
    ...(Number.isFinite(dueAt) && { dueAt }),
    ...(inDoubt > 0 && { inDoubt }),
    ...(isUnfinished && { unfinished: true }),
    ...(isStopped && { stopped: true }),
  };
}

/** The same as a header field, which is absent if there is nothing to say. */
export function withStanding(fields: StandingFields): { readonly standing?: Standing } {
  const standing = standingOf(fields);
  return standing === undefined ? {} : { standing };
}

/**
 * True if the model spoke last, in full, without asking for a tool; or a tool that ends
 * the turn succeeded; or the conversation is empty.
 */
function isTurnOver(fields: StandingFields): boolean {
  const messages: ListEnd<Message> = conversationOf(fields);
  const last = messages.findLast(({ role }) => role !== "tool");
  if (last === undefined || last.role === "system") return true;
  if (last.role !== "assistant" || last.incomplete === true) return false;
  const calls = last.toolCalls ?? [];
  if (calls.length === 0) return true;
  return hasEndedTurn(
    fields.toolExecutions,
    calls.map(({ id }) => id),
  );
}

/** Under which the metadata of a sub-agent's thread names the call that it works for. */
export const PARENT_KEY = "holdfast.parent";

export interface ParentCall {
  readonly threadId: string;
  readonly toolCallId: string;
}

/** The parent of a thread; `undefined` for a thread that works for itself. */
export function parentOf(metadata: Readonly<Record<string, unknown>> | undefined): ParentCall | undefined {
  const parent = metadata?.[PARENT_KEY] as Partial<ParentCall> | undefined;
  const { threadId, toolCallId } = parent ?? {};
  return typeof threadId === "string" && typeof toolCallId === "string" ? { threadId, toolCallId } : undefined;
}
