import { AgentState } from "../state/agent-state.ts";
import { findOrigin, findOrigins, type Origin, rememberOrigin } from "../state/lineage.ts";
import { NO_BYTES, type SealedBytes, sealBytes } from "../state/sealed-bytes.ts";
import type { StateFields } from "../state/state-fields.ts";
import { migrateFields } from "../state/state-schema.ts";
import { rebuild } from "./chain.ts";
import type { CheckpointContext } from "./context.ts";
import { type ChainSize, openHeader, type ThreadFacts } from "./record.ts";
import type { LogChain, LogRecord } from "./thread-log.ts";

/** Where a state stands in the log of one thread, as far as its holder knows. */
export interface Position {
  readonly generation: string;
  /** The last record seen, which the next append expects as the tail. */
  readonly tail: number;
  /** The state's own checkpoint. */
  readonly seq: number;
  readonly checkpointId: string;
  readonly writeId: string;
  readonly base: number;
  readonly chain: ChainSize;
  /** The fields in the record. They differ from the state's own if a load migrated them to a newer schema. */
  readonly stored: StateFields;
  /** The byte arrays in the state's own fields. */
  readonly schema: number;
  readonly bytes: SealedBytes;
  /** As of the tail. */
  readonly thread: ThreadFacts | undefined;
  /** The record itself, if it is small and the next save is likely to need it. */
  readonly record?: LogRecord;
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
 * thread's random generation tells. Asked only if that is possible.
 */
export async function adoptPosition(context: CheckpointContext, state: AgentState, threadId: string): Promise<void> {
  const known = findOrigins(state, threadId);
  if (known.length === 0 || positionOf(context, state, threadId) !== undefined) return;
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
  rememberOrigin(state, threadId, context.id, { fields: state.fields, generation, position });
}

/** The state at `seq`, migrated to the program's schema, which remembers where it came from. */
export function stateAt(context: CheckpointContext, threadId: string, chain: LogChain, seq: number): AgentState {
  const { record, header, fields, bytes } = rebuild(chain, seq);
  const state = AgentState.fromFields(migrateFields(fields, header.schema, context.schema));
  rememberPosition(context, state, threadId, {
    generation: chain.generation,
    // A past state claims no more than it knows: its save must meet whatever came after it.
    tail: seq === chain.tail.head ? chain.tail.seq : seq,
    seq,
    writeId: record.writeId,
    checkpointId: record.checkpointId ?? "",
    base: record.base,
    chain: header.chain,
    stored: fields,
    schema: context.schema?.version ?? header.schema,
    bytes: sealBytes(NO_BYTES, bytes),
    thread: openHeader(chain.tail).thread,
  });
  return state;
}

/** A record kept in memory equals the stored one only while nothing came after it: an edit may have replaced it. */
export function asOf(position: Position | undefined, tail: number): Position | undefined {
  if (position === undefined || position.seq === tail) return position;
  const { record: _, ...rest } = position;
  return rest;
}
