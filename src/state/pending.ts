import type { AgentState } from "./agent-state.ts";
import { callAt, countInDoubt } from "./call-facts.ts";
import type { Interrupt, ToolExecution, WaitingCall } from "./fields.ts";
import type { ToolCall } from "./message.ts";
import { openCallsIn } from "./tool-calls.ts";

/**
 * A call that goes on only when something comes from outside: a person's decision, a person's answer, or an outcome that
 * another system has. One form for all of them, wherever they are shown: in a run's result, in events, on a page, in the
 * inbox. Those of sub-agents stand in the list of the thread that they work for.
 */
export interface PendingCall {
  /** What an answer names: `send({ answer: { id, response } })`. */
  readonly id: string;
  /** "external": its outcome. The response is what the tool would have returned; to decline it says that there is none. */
  readonly kind: "approval" | "question" | "external";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: unknown;
  readonly question: string;
  /** JSON Schema of the answer, where the tool gave one. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** The key to look up where the effect would have happened. */
  readonly idempotencyKey?: string;
  readonly since?: Date;
  /** The time by which it must be completed. */
  readonly dueAt?: Date;
  /** It was begun and its outcome was never recorded: the response says that it took effect, to decline that it did not. */
  readonly isInDoubt?: true;
}

type Calls = Pick<AgentState, "messages" | "toolExecutions" | "interrupts">;

const EXTERNAL = "/result";

/** Under which id a call whose outcome comes from outside is among what waits. */
export const externalIdOf = (toolCallId: string): string => `${toolCallId}${EXTERNAL}`;

/** The call that an answer under this id is the outcome of; `undefined` where it answers a question. */
export function externalCallOf(
  { interrupts }: Pick<AgentState, "interrupts">,
  id: string | undefined,
): string | undefined {
  if (id?.endsWith(EXTERNAL) !== true || interrupts.some((interrupt) => interrupt.id === id)) return undefined;
  return id.slice(0, -EXTERNAL.length);
}

/** Questions that were not answered. */
export const unansweredIn = ({ interrupts }: Pick<AgentState, "interrupts">): readonly Interrupt[] =>
  interrupts.filter(({ answer }) => answer === undefined);

/** Of open calls: those whose outcome another system has. */
export const externalCallsIn = (state: AgentState): readonly WaitingCall[] =>
  openCallsIn(state).flatMap(({ execution }) => (execution === undefined ? [] : awaitedBy(execution)));

const awaitedBy = (execution: ToolExecution): readonly WaitingCall[] =>
  execution.waitsFor ?? (execution.status === "pending" ? [execution] : []);

/**
 * All that a thread waits for: questions first, then outcomes, then calls in doubt. A call that was begun is one of
 * those only where no process runs the thread (`isAbandoned`).
 */
export function pendingIn(
  state: Calls,
  { isAbandoned = false }: { readonly isAbandoned?: boolean } = {},
): readonly PendingCall[] {
  if (!Array.isArray(state?.interrupts)) {
    throw new TypeError("pendingIn() takes a state; load() gives undefined where there is no thread");
  }
  return [
    ...unansweredIn(state).map((interrupt) => questionOf(state, interrupt)),
    ...openCallsIn(state).flatMap(({ call, execution }) =>
      execution === undefined ? [] : awaitedBy(execution).map((awaited) => outcomeOf(awaited, call, execution)),
    ),
    ...inDoubt(state, isAbandoned),
  ];
}

function questionOf(state: Calls, interrupt: Interrupt): PendingCall {
  const { id, kind, question, schema, askedAt, toolCallId } = interrupt;
  const since = new Date(askedAt);
  return { id, kind, ...callOf(state, toolCallId), question, ...(schema !== undefined && { schema }), since };
}

function outcomeOf(awaited: WaitingCall, call: ToolCall, { startedAt }: ToolExecution): PendingCall {
  const { toolCallId, toolName, idempotencyKey, dueAt } = awaited;
  return {
    id: externalIdOf(toolCallId),
    kind: "external",
    toolCallId,
    toolName,
    arguments: call.arguments,
    question: `What came of the call of ${toolName}?`,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(startedAt !== undefined && { since: new Date(startedAt) }),
    ...(dueAt !== undefined && { dueAt: new Date(dueAt) }),
  };
}

function inDoubt(state: Calls, isAbandoned: boolean): readonly PendingCall[] {
  const { toolExecutions } = state;
  if (toolExecutions.length === 0 || countInDoubt(toolExecutions) === 0) return [];
  const isOne = (execution: ToolExecution): boolean => {
    const { status, waitsFor, toolCallId } = execution;
    const isDoubtful = status === "unknown" || (isAbandoned && status === "started" && waitsFor === undefined);
    return isDoubtful && toolExecutions[callAt(toolExecutions, toolCallId)] === execution;
  };
  return toolExecutions.filter(isOne).map(({ toolCallId, toolName, settledAt, startedAt = settledAt }) => ({
    id: externalIdOf(toolCallId),
    kind: "external",
    ...callOf(state, toolCallId),
    question: `Did the call of ${toolName} take effect?`,
    ...(startedAt !== undefined && { since: new Date(startedAt) }),
    isInDoubt: true,
  }));
}

function callOf(
  { messages, toolExecutions }: Calls,
  toolCallId: string,
): Pick<PendingCall, "toolCallId" | "toolName" | "arguments" | "idempotencyKey"> {
  const execution = toolExecutions[callAt(toolExecutions, toolCallId)];
  const isAsked = ({ id }: ToolCall): boolean => id === toolCallId;
  const asking = messages.findLast((message) => message.role === "assistant" && message.toolCalls?.some(isAsked));
  const call = asking?.role === "assistant" ? asking.toolCalls?.findLast(isAsked) : undefined;
  const key = execution?.idempotencyKey;
  return {
    toolCallId,
    toolName: execution?.toolName ?? call?.name ?? "",
    arguments: call?.arguments,
    ...(key !== undefined && { idempotencyKey: key }),
  };
}
