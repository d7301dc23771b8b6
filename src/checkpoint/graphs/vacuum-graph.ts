import { removeCheckpoints } from "../../saver/removing.ts";
import { ThreadWriter } from "../../saver/thread-writer.ts";
import type { CheckpointContext } from "../context.ts";

/** What may go of a graph's thread, counted in each of its namespaces. */
export interface GraphRule {
  readonly keepLast: number;
  readonly cutoff: number;
  readonly dryRun: boolean;
}

/**
 * Retention for the thread of a graph, by the saver's own means. Loaded when the
 * first such thread is met: whoever has no graphs does not load savers.
 */
export function vacuumGraph(
  context: CheckpointContext,
  threadId: string,
  { keepLast, cutoff, dryRun }: GraphRule,
): Promise<{ readonly checkpoints: number; readonly threads: number }> {
  const isYoung = (createdAt: number): boolean => cutoff !== Number.POSITIVE_INFINITY && createdAt >= cutoff;
  const writer = new ThreadWriter(context, threadId, 0);
  return removeCheckpoints(context, writer, threadId, {
    removes: ({ createdAt }, rank) => rank >= keepLast && !isYoung(createdAt),
    dryRun,
  });
}
