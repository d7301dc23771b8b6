import { Recent } from "../../internal/recent.ts";
import { type AgentState, heldFieldsOf } from "../../state/agent-state.ts";
import type { StateFields } from "../../state/fields.ts";
import { findOrigin, findOrigins, type Origin, rememberOrigin } from "../../state/lineage.ts";
import type { WatchedBytes } from "../../state/values/watched-bytes.ts";
import type { CheckpointContext } from "../context.ts";
import type { LogRecord } from "../log/thread-log.ts";
import type { ChainSize } from "../record/record.ts";
import type { Tail, Thread } from "./thread.ts";

/** Where a state stands in the log of one thread, as far as its holder knows. */
export interface Position {
  /** The end of the thread when it was last seen, which the next append expects. */
  readonly tail: Tail;
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
  /** The record itself, if it is small and the next save is likely to need it. */
  readonly record?: LogRecord | undefined;
}

export const originOf = (
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
): Origin<Position> | undefined => findOrigin(state, threadId, context.id) as Origin<Position> | undefined;

export const positionOf = (context: CheckpointContext, state: AgentState, threadId: string): Position | undefined =>
  findOrigin(state, threadId, context.id)?.position as Position | undefined;

/**
 * A state that came from another checkpointer may be in the same store; the
 * thread's random generation tells. Asked only if that is possible.
 */
export async function adoptPosition(thread: Thread, state: AgentState): Promise<Position | undefined> {
  const known = findOrigins(state, thread.id);
  if (known.length === 0) return undefined;
  const tail = await thread.tail();
  const same = known.find(({ generation }) => generation === tail?.generation);
  if (same !== undefined) rememberOrigin(state, thread.id, thread.context.id, same);
  return same?.position as Position | undefined;
}

export function rememberPosition(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  position: Position,
): void {
  const { generation } = position.tail;
  rememberOrigin(state, threadId, context.id, { fields: heldFieldsOf(state), generation, position });
}

/**
 * Whether the checkpoint is the head of a thread that ends with `tail`. One of its
 * number may be another, where a storage was put back and others wrote since.
 */
export async function isStillHead(
  thread: Thread,
  { seq, writeId }: Pick<Position, "seq" | "writeId">,
  tail: Tail,
): Promise<boolean> {
  if (tail.head !== seq) return false;
  if (tail.seq === seq) return tail.writeId === writeId;
  const head = await thread.newest(seq + 1);
  return head?.seq === seq && head.writeId === writeId;
}

/** The newest checkpoint of a thread, as this process last loaded or saved it. */
export interface WarmThread {
  readonly position: Position;
  /** The schema version of `position.stored`, which a load has yet to migrate. */
  readonly storedSchema: number;
}

/** For the bookkeeping of a thread, whatever its state weighs. */
const BYTES_PER_THREAD = 1024;

/**
 * Keeps the states of recent threads in memory, so that loading one again reads
 * only what is newer. An entry is a starting point and never an answer: every
 * load asks the storage where the thread ends, and whether its history was
 * edited. Bounded by the bytes that the states take in the storage.
 */
export class WarmThreads {
  readonly #threads: Recent<WarmThread>;
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#threads = new Recent(capacity);
    this.#capacity = capacity;
  }

  get(threadId: string): WarmThread | undefined {
    return this.#threads.get(threadId);
  }

  /** Byte arrays cannot be frozen, so a state with one is never shared between two loads. */
  keep(threadId: string, thread: WarmThread): void {
    const { chain, bytes } = thread.position;
    const weight = chain.bytes + BYTES_PER_THREAD;
    if (bytes.leaves.length > 0 || weight > this.#capacity) this.#threads.delete(threadId);
    else this.#threads.set(threadId, thread, weight);
  }

  forget(threadId: string): void {
    this.#threads.delete(threadId);
  }
}
