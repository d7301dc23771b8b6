import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import type { CheckpointContext } from "../checkpoint/context.ts";
import type { LogEntry } from "../checkpoint/log/thread-log.ts";
import { openHeader, type RecordHeader } from "../checkpoint/record/record.ts";
import { StateError } from "../errors.ts";
import { Recent } from "../internal/recent.ts";
import type { AgentState } from "../state/agent-state.ts";
import { CallIndex } from "./answers/messages.ts";

/** A state of the past never changes, so it is read once: every view of it is a slice. */
export interface SeenState {
  readonly threadId: string;
  readonly entry: LogEntry;
  readonly header: RecordHeader;
  readonly isNewest: boolean;
  readonly generation: string;
  readonly state: AgentState;
  readonly calls: CallIndex;
}

type Loaded = Pick<SeenState, "state" | "calls">;

/** States in memory, by their places; as many as weigh no more than was allowed. */
export class StateCache {
  readonly #checkpointer: Checkpointer;
  readonly #context: CheckpointContext;
  readonly #states: Recent<Promise<Loaded>>;

  constructor(checkpointer: Checkpointer, context: CheckpointContext, mostBytes: number) {
    this.#checkpointer = checkpointer;
    this.#context = context;
    this.#states = new Recent(mostBytes);
  }

  /** The state at a checkpoint, or the newest. */
  async at(threadId: string, checkpointId: string | undefined): Promise<SeenState> {
    const { entry, generation, isNewest, edits } = await this.place(threadId, checkpointId);
    const header = openHeader(entry);
    // An erasure rewrites records in their places: what was read before it is another state.
    const key = JSON.stringify([threadId, generation, entry.seq, entry.writeId, edits]);
    const known = this.#states.get(key);
    const reading = known ?? this.#load(threadId, entry);
    // Decoded, a state takes several times the room of its text.
    this.#states.set(key, reading, 4 * header.chain.bytes + 1024);
    try {
      return { threadId, entry, header, isNewest, generation, ...(await reading) };
    } catch (error) {
      this.#states.delete(key);
      throw error;
    }
  }

  async #load(threadId: string, { checkpointId = "" }: LogEntry): Promise<Loaded> {
    const state = await this.#checkpointer.load(threadId, { checkpointId });
    if (state === undefined) throw missing(threadId, checkpointId);
    return { state, calls: new CallIndex(state.fields) };
  }

  /** Where a checkpoint stands, without its state. */
  async place(
    threadId: string,
    checkpointId: string | undefined,
  ): Promise<{ entry: LogEntry; generation: string; isNewest: boolean; edits: number }> {
    const place = { operation: "load", threadId };
    const tail = await this.#context.call(place, (log) => log.tail(threadId));
    if (tail === undefined || tail.entry.head === 0) throw missing(threadId, checkpointId);
    const { edits = 0, erasures = 0 } = openHeader(tail.entry).thread ?? {};
    const entry = await this.#context.call(place, async (log) =>
      checkpointId !== undefined
        ? log.entry(threadId, checkpointId)
        : tail.entry.head === tail.entry.seq
          ? tail.entry
          : (await log.list(threadId, { before: tail.entry.head + 1, limit: 1 }))[0],
    );
    if (entry === undefined) throw missing(threadId, checkpointId);
    return { entry, generation: tail.generation, isNewest: entry.seq === tail.entry.head, edits: edits + erasures };
  }
}

function missing(threadId: string, checkpointId: string | undefined): StateError {
  const which = checkpointId === undefined ? "" : ` with a checkpoint ${JSON.stringify(checkpointId)}`;
  return new StateError("NOT_FOUND", `there is no thread ${JSON.stringify(threadId)}${which}`, { threadId });
}
