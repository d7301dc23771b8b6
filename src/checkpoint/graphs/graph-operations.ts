import { StateError } from "../../errors.ts";
import { removeCheckpoints } from "../../saver/history/removing.ts";
import { checkpointName } from "../../saver/thread/graph-record.ts";
import { ThreadWriter } from "../../saver/thread/graph-threads.ts";
import type { CheckpointContext } from "../context.ts";

/**
 * What a checkpointer does with the thread of a graph, by the saver's own means. Loaded
 * when the first such thread is met: a program without graphs does not load savers.
 */
export { eraseInGraph, findInGraph } from "../../saver/erasing/erasing.ts";
export { diffGraph } from "../../saver/history/diffing.ts";
export { forkGraph } from "../../saver/history/forking.ts";
export { answerGraph, graphItems } from "../../saver/thread/interrupts.ts";

/** What may go of a graph's thread, counted in each of its namespaces. */
export interface GraphRule {
  readonly keepLast: number;
  readonly cutoff: number;
  readonly dryRun: boolean;
}

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

/** One checkpoint, by its name. Its children keep what they were built on. False when it is not there. */
export async function deleteGraphCheckpoint(
  context: CheckpointContext,
  threadId: string,
  name: string,
): Promise<boolean> {
  let isThere = false;
  const { checkpoints } = await removeCheckpoints(context, new ThreadWriter(context, threadId, 0), threadId, {
    removes: ({ checkpointNs, checkpointId }) => {
      const isIt = checkpointName(checkpointNs, checkpointId) === name;
      isThere ||= isIt;
      return isIt;
    },
  });
  if (isThere && checkpoints === 0) {
    throw new StateError(
      "INVALID_ARGUMENT",
      "later checkpoints of the graph need the writes of this one: they are the values of delta channels. Delete those first, or prune the thread",
      { checkpointId: name },
    );
  }
  return checkpoints > 0;
}
