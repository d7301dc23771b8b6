import { type AgentState, heldFieldsOf } from "../../state/agent-state.ts";
import type { StateFields } from "../../state/fields.ts";
import { findOrigin, findOrigins, type Origin, rememberOrigin } from "../../state/lineage.ts";
import type { WatchedBytes } from "../../state/values/sealed-bytes.ts";
import type { CheckpointContext } from "../context.ts";
import type { KnownPlace, LogEntry, LogRecord } from "../log/thread-log.ts";
import type { ChainSize, ThreadFacts } from "../record/record.ts";

/** Where a state stands in the log of one thread, as far as its holder knows. */
export interface Position {
  readonly generation: string;
  /** The last record seen, which the next append expects as the tail. */
  readonly tail: KnownPlace;
  /** The state's own checkpoint. */
  readonly seq: number;
  readonly checkpointId: string;
  readonly writeId: string;
  readonly base: number;
  readonly chain: ChainSize;
  /** The fields in the record. They differ from the state's own if a load migrated them to a newer schema. */
  readonly stored: StateFields;
  /** The schema version of the state's own fields, and the byte arrays in them. */
  readonly schema: number;
  readonly bytes: WatchedBytes;
  /** As of the tail. */
  readonly thread: ThreadFacts | undefined;
  /** The record itself, if it is small and the next save is likely to need it. */
  readonly record?: LogRecord | undefined;
}

export const originOf = (
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
): Origin<Position> | undefined => findOrigin(state, threadId, context.id) as Origin<Position> | undefined;

export const positionOf = (context: CheckpointContext, state: AgentState, threadId: string): Position | undefined =>
  originOf(context, state, threadId)?.position;

/**
 * A state that came from another checkpointer may be in the same store; the
 * thread's random generation tells. Asked only if that is possible; `undefined`
 * if there is nothing to wait for.
 */
export function adoptPosition(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
): Promise<void> | undefined {
  const known = findOrigins(state, threadId);
  if (known.length === 0 || positionOf(context, state, threadId) !== undefined) return undefined;
  return adoptOneOf(known, context, state, threadId);
}

async function adoptOneOf(
  known: readonly Origin[],
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
): Promise<void> {
  const found = await context.call({ operation: "save", threadId }, (log) => log.tail(threadId));
  const same = known.find(({ generation }) => generation === found?.generation);
  if (same !== undefined) rememberOrigin(state, threadId, context.id, same);
}

export function rememberPosition(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  position: Position,
): void {
  const { generation } = position;
  rememberOrigin(state, threadId, context.id, { fields: heldFieldsOf(state), generation, position });
}

/**
 * Whether the checkpoint is the head of a thread that ends with `tail`. One of its
 * number may be another, where a storage was put back and others wrote since.
 */
export async function isStillHead(
  context: CheckpointContext,
  threadId: string,
  { seq, writeId }: Pick<Position, "seq" | "writeId">,
  tail: LogEntry,
): Promise<boolean> {
  if (tail.head !== seq) return false;
  if (tail.seq === seq) return tail.writeId === writeId;
  const place = { operation: "save", threadId };
  const [head] = await context.call(place, (log) => log.list(threadId, { before: seq + 1, limit: 1 }));
  return head?.seq === seq && head.writeId === writeId;
}

/** A record kept in memory equals the stored one only while nothing came after it: an edit may have replaced it. */
export function asOf(position: Position | undefined, tail: number): Position | undefined {
  if (position === undefined || position.seq === tail) return position;
  const { record: _, ...rest } = position;
  return rest;
}
