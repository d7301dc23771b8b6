import type { Message } from "../state/message.ts";

/** Where a conversation may begin without losing what belongs together. */
export interface CutPoints {
  /** Positions of user messages: a turn begins there. */
  readonly turns: readonly number[];
  /** Positions of the model's messages within a turn. Each brings its reasoning, signatures and calls whole. */
  readonly steps: readonly number[];
}

/**
 * A conversation is cut before a message of the user's, or, within one huge
 * turn, before a message of the model's. Never between a call and its result,
 * also where a user's message came in between; and never behind something that the
 * model has not seen yet: the results of its last calls, or what was said since.
 */
export function cutPoints(messages: readonly Message[]): CutPoints {
  const turns: number[] = [];
  const steps: number[] = [];
  const reach = reachOfCalls(messages);
  const unseen = lastAnswer(messages) + 1;
  let joined = -1;
  for (const [index, { role }] of messages.entries()) {
    if (index > unseen) break;
    if (index > joined && role === "user") turns.push(index);
    if (index > joined && role === "assistant") steps.push(index);
    joined = Math.max(joined, reach.get(index) ?? -1);
  }
  return { turns, steps };
}

/** For each message with calls: the position of the last result that belongs to it. */
function reachOfCalls(messages: readonly Message[]): ReadonlyMap<number, number> {
  const reach = new Map<number, number>();
  let caller = -1;
  let calls: ReadonlySet<string> = new Set();
  for (const [index, message] of messages.entries()) {
    if (message.role === "assistant") {
      caller = index;
      calls = new Set(message.toolCalls?.map(({ id }) => id));
    } else if (message.role === "tool" && calls.has(message.toolCallId)) reach.set(caller, index);
  }
  if (calls.size > 0) reach.set(caller, Number.POSITIVE_INFINITY);
  return reach;
}

/** Results before this position were seen by the model. Later ones were not, and must reach it whole. */
export function lastAnswer(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === "assistant");
}
