import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";

/** Everything that can be loaded from a store: each checkpoint of each thread, its time, its metadata and its state. */
export async function everythingIn(
  checkpointer: Checkpointer,
  isWanted: (threadId: string) => boolean = () => true,
): Promise<Readonly<Record<string, unknown>>> {
  const found: Record<string, unknown> = {};
  for (const threadId of [...(await checkpointer.listThreads({ limit: 1000 }))].filter(isWanted).sort()) {
    const checkpoints: unknown[] = [];
    for await (const { seq: _, lease: _lease, ...summary } of checkpointer.history(threadId)) {
      checkpoints.push({
        ...summary,
        state: (await checkpointer.load(threadId, summary.checkpointId))?.toCheckpoint(),
      });
    }
    found[threadId] = {
      checkpoints,
      newest: (await checkpointer.load(threadId))?.toCheckpoint(),
      lineage: await checkpointer.lineage(threadId),
      faults: (await checkpointer.verify(threadId))?.faults,
    };
  }
  return found;
}
