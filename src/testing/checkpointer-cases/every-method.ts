import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { hasDetails } from "./checkpointer-case.ts";
import { conversation } from "./conversations.ts";

export type Call = (id: string) => Promise<unknown>;

/** Reads an iterable to its first item: what is wrong with the arguments shows by then. */
async function start(iterable: AsyncIterable<unknown>): Promise<unknown> {
  const iterator = iterable[Symbol.asyncIterator]();
  try {
    return await iterator.next();
  } finally {
    await iterator.return?.();
  }
}

/** Every way to hand a thread id to a checkpointer that can do it. `t` is a thread with one checkpoint. */
export const callsWithThreadId = (subject: BaseCheckpointer): Readonly<Record<string, Call>> => {
  const { branching, lease, watch, listWithMetadata } = subject.capabilities;
  return {
    save: async (id) => subject.save(conversation(1), id),
    load: async (id) => subject.load(id),
    listCheckpoints: async (id) => subject.listCheckpoints(id),
    delete: async (id) => subject.delete(id),
    exists: async (id) => subject.exists(id),
    history: async (id) => start(subject.history(id)),
    diff: async (id) => subject.diff(id, "a", "b"),
    ...(listWithMetadata && { getMetadata: async (id) => subject.getMetadata(id) }),
    ...(branching && {
      "copyThread from": async (id) => subject.copyThread(id, "target"),
      "copyThread to": async (id) => subject.copyThread("t", id),
      "fork from": async (id) => subject.fork(id, "target"),
      "fork to": async (id) => subject.fork("t", id),
    }),
    ...(lease && { withLease: async (id) => subject.withLease(id, async () => undefined) }),
    ...(watch && { watch: async (id) => start(subject.watch(id, { signal: AbortSignal.timeout(5000) })) }),
    ...(hasDetails(subject) && {
      stats: async (id) => subject.stats(id),
      lineage: async (id) => subject.lineage(id),
    }),
  };
};

/** Every way to hand over a checkpoint id. */
export const callsWithCheckpointId = (subject: BaseCheckpointer): Readonly<Record<string, Call>> => {
  const { branching, listWithMetadata } = subject.capabilities;
  return {
    save: async (checkpointId) => subject.save(conversation(1), "new", { checkpointId }),
    load: async (checkpointId) => subject.load("t", { checkpointId }),
    delete: async (checkpointId) => subject.delete("t", { checkpointId }),
    exists: async (checkpointId) => subject.exists("t", { checkpointId }),
    "diff from": async (checkpointId) => subject.diff("t", checkpointId, "c"),
    "diff to": async (checkpointId) => subject.diff("t", "c", checkpointId),
    ...(listWithMetadata && { getMetadata: async (checkpointId) => subject.getMetadata("t", { checkpointId }) }),
    ...(branching && { "fork at": async (at) => subject.fork("t", "target", { at }) }),
  };
};

/** Everything else that reads or writes. */
export const callsWithoutId = (subject: BaseCheckpointer): Readonly<Record<string, () => Promise<unknown>>> => {
  const { search, metadataQuery, vacuum, listThreads, listWithMetadata } = subject.capabilities;
  return {
    ...(search && { search: async () => subject.search("word") }),
    ...(metadataQuery && { queryByMetadata: async () => subject.queryByMetadata("key", 1) }),
    ...(vacuum && {
      vacuum: async () => subject.vacuum({ keepLast: 1 }),
      vacuumPlan: async () => start(subject.vacuumPlan({ keepLast: 1 })),
    }),
    ...(listThreads && { listThreads: async () => subject.listThreads() }),
    ...(listWithMetadata && { listWithMetadata: async () => subject.listWithMetadata() }),
  };
};
