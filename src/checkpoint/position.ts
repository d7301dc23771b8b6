import { AgentState } from "../state/agent-state.ts";
import { findOrigin, rememberOrigin } from "../state/lineage.ts";
import { migrateFields } from "../state/state-schema.ts";
import { rebuild } from "./chain.ts";
import type { CheckpointContext } from "./context.ts";
import { type ChainSize, openHeader, type ThreadFacts } from "./record.ts";
import type { LogChain } from "./thread-log.ts";

/** Where a state stands in the log of one thread, as far as its holder knows. */
export interface Position {
  readonly generation: string;
  /** The last record seen: what the next append expects. */
  readonly tail: number;
  /** The state's own checkpoint. */
  readonly seq: number;
  readonly checkpointId: string;
  readonly writeId: string;
  readonly base: number;
  readonly chain: ChainSize;
  readonly schema: number;
  /** As of the tail. */
  readonly thread: ThreadFacts | undefined;
}

export const positionOf = (context: CheckpointContext, state: AgentState, threadId: string): Position | undefined =>
  findOrigin(state, context.originKey(threadId))?.position as Position | undefined;

export function rememberPosition(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  position: Position,
): void {
  rememberOrigin(state, context.originKey(threadId), { fields: state.fields, position });
}

/** The state at `seq`, brought up to the program's schema, and remembering where it came from. */
export function stateAt(context: CheckpointContext, threadId: string, chain: LogChain, seq: number): AgentState {
  const { record, header, fields } = rebuild(chain, seq);
  const state = AgentState.fromFields(migrateFields(fields, header.schema, context.schema));
  rememberPosition(context, state, threadId, {
    generation: chain.generation,
    // A state of the past claims no more than it knows: its save must meet whatever came after it.
    tail: seq === chain.tail.head ? chain.tail.seq : seq,
    seq,
    writeId: record.writeId,
    checkpointId: record.checkpointId ?? "",
    base: record.base,
    chain: header.chain,
    schema: header.schema,
    thread: openHeader(chain.tail).thread,
  });
  return state;
}
