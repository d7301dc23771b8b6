import type { CheckpointContext } from "../context.ts";
import type { FoundRecords, LogEntry, SearchHit, SearchOrder, SearchRange } from "../log/thread-log.ts";
import { Thread } from "../thread/thread.ts";

/** The most to ask for, however many hits coincide. */
const MAX_HITS = 10_000;

export interface FoundCheckpoints {
  readonly hits: readonly SearchHit[];
  readonly order: SearchOrder;
  /** The place behind which there is more. */
  readonly more: string | undefined;
}

/**
 * The hits of `find` as checkpoints: a hit in a step counts for the first
 * checkpoint that builds on it. Several may coincide there, so more are asked for
 * until there are `limit`, or no more. On another page such a checkpoint may come
 * again.
 */
export async function hitsInCheckpoints(
  context: CheckpointContext,
  range: SearchRange,
  find: (range: SearchRange) => Promise<FoundRecords>,
): Promise<FoundCheckpoints> {
  const { limit } = range;
  for (let asked = Math.min(limit + 1, MAX_HITS); ; asked = Math.min(asked * 8, MAX_HITS)) {
    const { hits: found, order } = await find({ ...range, limit: asked });
    const checkpoints = new Checkpoints(context);
    let last: string | undefined;
    for (const hit of found) {
      const isRoom = await checkpoints.take(hit, limit);
      if (!isRoom) return { hits: checkpoints.hits, order, more: last };
      last = hit.place;
    }
    const isEnd = found.length < asked;
    if (isEnd || asked >= MAX_HITS) return { hits: checkpoints.hits, order, more: isEnd ? undefined : last };
  }
}

/** Checkpoints that hits belong to, in the order of the first hit of each. */
class Checkpoints {
  readonly #context: CheckpointContext;
  readonly #places = new Map<string, readonly LogEntry[]>();
  readonly #hits = new Map<string, SearchHit>();

  constructor(context: CheckpointContext) {
    this.#context = context;
  }

  get hits(): readonly SearchHit[] {
    return [...this.#hits.values()];
  }

  /** False where it would be one more than `limit`; then it is left out. */
  async take(hit: SearchHit, limit: number): Promise<boolean> {
    const entry = hit.entry.checkpointId === undefined ? await this.#after(hit) : hit.entry;
    if (entry === undefined) return true;
    const key = JSON.stringify([hit.threadId, entry.seq]);
    if (this.#hits.has(key)) return true;
    if (this.#hits.size >= limit) return false;
    this.#hits.set(key, { ...hit, entry });
    return true;
  }

  async #after({ threadId, entry: { seq } }: SearchHit): Promise<LogEntry | undefined> {
    const listed = this.#places.get(threadId) ?? (await oldestFirst(this.#context, threadId));
    this.#places.set(threadId, listed);
    return listed.find((other) => other.seq > seq);
  }
}

async function oldestFirst(context: CheckpointContext, threadId: string): Promise<readonly LogEntry[]> {
  const listed: LogEntry[] = [];
  for await (const entry of new Thread(context, threadId, "search").entries()) listed.push(entry);
  return listed.reverse();
}
