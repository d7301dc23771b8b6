import type { ToolExecution } from "./fields.ts";
import { ListFact } from "./growing-list.ts";

/**
 * Facts about a ledger's calls without reading it from its beginning: they are asked
 * for in every step of every call, and the ledger is as long as the thread.
 */

interface CallFacts {
  /** Where the last entry of each call is. */
  readonly places: Map<string, number>;
  inDoubt: number;
  /** Successful calls of tools that end a turn. */
  ends: number;
}

/** Calls that are not settled yet stand at the end. */
const MAY_CHANGE = 64;

const facts = new ListFact<ToolExecution, CallFacts>(
  () => ({ places: new Map(), inDoubt: 0, ends: 0 }),
  add,
  MAY_CHANGE,
);

function add(known: CallFacts, execution: ToolExecution, index: number): CallFacts {
  known.places.set(execution.toolCallId, index);
  if (isInDoubt(execution)) known.inDoubt++;
  if (hasEnded(execution)) known.ends++;
  return known;
}

/** A call that was started and has no recorded outcome. */
export const isInDoubt = ({ status }: ToolExecution): boolean => status === "started" || status === "unknown";

const hasEnded = ({ terminal, status }: ToolExecution): boolean => terminal === true && status === "succeeded";

/** The position of the last entry of a call, or -1. */
export function callAt(executions: readonly ToolExecution[], toolCallId: string): number {
  const first = Math.max(0, executions.length - MAY_CHANGE);
  for (let index = executions.length - 1; index >= first; index--) {
    if (executions[index]?.toolCallId === toolCallId) return index;
  }
  return first === 0 ? -1 : (facts.of(executions).fact.places.get(toolCallId) ?? -1);
}

export function countInDoubt(executions: readonly ToolExecution[]): number {
  const { fact, length } = facts.of(executions);
  let count = fact.inDoubt;
  for (let index = length; index < executions.length; index++) if (isInDoubtAt(executions, index)) count++;
  return count;
}

function isInDoubtAt(executions: readonly ToolExecution[], index: number): boolean {
  const execution = executions[index];
  return execution !== undefined && isInDoubt(execution);
}

/** Whether one of these calls succeeded and its tool ends the turn. Hardly any ledger has such a call. */
export function hasEndedTurn(executions: readonly ToolExecution[], toolCallIds: readonly string[]): boolean {
  const { fact, length } = facts.of(executions);
  const isOne = (execution: ToolExecution): boolean =>
    hasEnded(execution) && toolCallIds.includes(execution.toolCallId);
  for (let index = fact.ends > 0 ? 0 : length; index < executions.length; index++) {
    const execution = executions[index];
    if (execution !== undefined && isOne(execution)) return true;
  }
  return false;
}
