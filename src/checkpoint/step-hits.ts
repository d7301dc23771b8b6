import type { CheckpointContext } from "./context.ts";
import { entries } from "./editing.ts";
import type { LogEntry, SearchHit } from "./thread-log.ts";

/** The most to ask for, however many hits coincide. */
const MAX_HITS = 10_000;

/**
 * The hits of `find` as checkpoints: a hit in a step counts for the first
 * checkpoint that builds on it. Several may coincide there, so more are asked for
 * until there are `limit`, or no more.
 */
export async function hitsInCheckpoints(
  context: CheckpointContext,
  limit: number,
  find: (limit: number) => Promise<readonly SearchHit[]>,
): Promise<readonly SearchHit[]> {
  for (let asked = limit; ; asked = Math.min(asked * 8, MAX_HITS)) {
    const found = await find(asked);
    if (found.every(({ entry }) => entry.checkpointId !== undefined)) return found.slice(0, limit);
    const hits = await toCheckpoints(context, found);
    if (hits.length >= limit || found.length < asked || asked >= MAX_HITS) return hits.slice(0, limit);
  }
}

async function toCheckpoints(context: CheckpointContext, found: readonly SearchHit[]): Promise<readonly SearchHit[]> {
  const places = new Map<string, readonly LogEntry[]>();
  const hits = new Map<string, SearchHit>();
  for (const hit of found) {
    const { threadId } = hit;
    let { entry } = hit;
    if (entry.checkpointId === undefined) {
      const listed = places.get(threadId) ?? (await oldestFirst(context, threadId));
      places.set(threadId, listed);
      const { seq } = entry;
      const next = listed.find((other) => other.seq > seq);
      if (next === undefined) continue;
      entry = next;
    }
    // The best comes first.
    const key = JSON.stringify([threadId, entry.seq]);
    if (!hits.has(key)) hits.set(key, { ...hit, entry });
  }
  return [...hits.values()];
}

async function oldestFirst(context: CheckpointContext, threadId: string): Promise<readonly LogEntry[]> {
  const listed: LogEntry[] = [];
  for await (const entry of entries(context, threadId)) listed.push(entry);
  return listed.reverse();
}
