import { setTimeout as sleep } from "node:timers/promises";
import type { VacuumPlanEntry } from "../../src/checkpoint/base-checkpointer.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { AgentState } from "../../src/state/agent-state.ts";

export type Call = () => Promise<unknown>;

/** What `fillStore` put into the store. */
export interface Filled {
  /** Of the thread `long`, oldest first. */
  readonly ids: readonly string[];
}

/** What lets a caller look. Each name is that of the method, and where it is called in several ways also how. */
export const readingCalls = (subject: Checkpointer, { ids }: Filled): Readonly<Record<string, Call>> => {
  const [first = "", second = ""] = ids;
  return {
    connect: () => subject.connect(),
    capabilities: async () => ({ ...subject.capabilities }),
    load: () => subject.load("long"),
    "load at": () => subject.load("long", first),
    "load of nothing": () => subject.load("not there"),
    exists: () => subject.exists("edited"),
    "exists at": () => subject.exists("long", second),
    listCheckpoints: () => subject.listCheckpoints("long", 5),
    "listCheckpoints further": async () => {
      const { cursor } = await subject.listCheckpoints("long", 5);
      return subject.listCheckpoints("long", { limit: 5, ...(cursor !== undefined && { cursor }) });
    },
    history: () => all(subject.history("long")),
    diff: () => subject.diff("long", first, second),
    getMetadata: () => subject.getMetadata("marked"),
    stats: () => subject.stats("long"),
    leaseOf: () => subject.leaseOf("leased"),
    signals: () => subject.signals("long"),
    verify: () => subject.verify("edited"),
    lineage: () => subject.lineage("forked"),
    inbox: () => subject.inbox(),
    watch: () =>
      subject
        .watch("long", { pollMs: 20, signal: AbortSignal.timeout(100) })
        [Symbol.asyncIterator]()
        .next(),
    listThreads: async () => [...(await subject.listThreads())].sort(),
    "listThreads by pattern": async () => [...(await subject.listThreads({ pattern: "lo*" }))].sort(),
    listWithMetadata: async () => [...(await subject.listWithMetadata())].map(({ threadId }) => threadId).sort(),
    queryByMetadata: async () => [...(await subject.queryByMetadata("colour", "red"))],
    // A zebra is in a record that no index holds yet, a newt in one that an index may hold.
    search: () => found(subject, "zebra"),
    "search of the indexed": () => found(subject, "newt"),
    "vacuum dryRun": () => subject.vacuum({ keepLast: 1, dryRun: true }),
    vacuumPlan: async () => {
      const plan: VacuumPlanEntry[] = [];
      for await (const entry of subject.vacuumPlan({ keepLast: 1 })) plan.push(entry);
      return plan.sort((a, b) => (a.threadId < b.threadId ? -1 : 1));
    },
    "diff of two threads": () => subject.diff({ threadId: "long" }, { threadId: "leased" }),
  };
};

async function found(subject: Checkpointer, words: string): Promise<readonly unknown[]> {
  const hits = await subject.search(words);
  return hits.map(({ threadId, checkpointId }) => ({ threadId, checkpointId }));
}

/** What would change the store. */
export const writingCalls = (subject: Checkpointer, { ids }: Filled): Readonly<Record<string, Call>> => {
  const [first = ""] = ids;
  return {
    save: () => subject.save(AgentState.create(), "new"),
    "save under a name": () => subject.save(AgentState.create(), "new", "c1"),
    "save with a time to live": () => subject.save(AgentState.create(), "new", { ttlSeconds: 60 }),
    "save onto a head": () => subject.save(AgentState.create(), "long", { expectedHead: first }),
    delete: () => subject.delete("long"),
    "delete at": () => subject.delete("long", first),
    "delete of a head": () => subject.delete("long", { expectedHead: ids.at(-1) ?? "" }),
    "delete of nothing": () => subject.delete("not there"),
    fork: () => subject.fork("long", "new"),
    settleCall: () => subject.settleCall("long", "call", { outcome: "done", by: "ann" }),
    "fork at": () => subject.fork("long", "new", first),
    copyThread: () => subject.copyThread("long", "new"),
    vacuum: () => subject.vacuum({ keepLast: 1 }),
    breakLease: () => subject.breakLease("leased"),
    withLease: () => subject.withLease("long", () => sleep(0)),
    send: () => subject.send("long", { message: "words" }),
  };
};

/** Methods that belong to neither list: they say nothing to the storage. */
export const OTHER_METHODS: readonly string[] = ["constructor", "close"];

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
