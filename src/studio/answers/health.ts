import { CAPABILITY_FLAGS, type CapabilityFlag } from "../../checkpoint/capabilities.ts";
import { isReadable } from "../../checkpoint/log/listed-threads.ts";
import type { Durability } from "../../driver/durability.ts";
import type { HealthAnswer } from "../service-api.ts";
import type { StudioContext } from "../studio-context.ts";

const MEANS: Readonly<Record<CapabilityFlag, string>> = {
  search: "words are found in every stored checkpoint",
  metadataQuery: "threads are found by their metadata",
  vacuum: "old checkpoints can be removed",
  branching: "threads can be forked and copied",
  ttl: "threads can expire by themselves",
  listThreads: "all threads can be listed",
  listWithMetadata: "lists show times, sizes and metadata",
  persistentCheckpointIds: "checkpoint ids hold after a restart",
  conditionalSave: "of two writers one is refused, so that nothing is overwritten",
  history: "earlier checkpoints can be listed, loaded and compared",
  lease: "one writer at a time can hold a thread",
  watch: "new checkpoints can be followed as they come",
};

const DURABILITY: Readonly<Record<Durability, string>> = {
  memory: "a save is gone with the process",
  os: "a save survives the end of the process; a power cut may take the last ones",
  fsync: "a save is on stable storage before it is acknowledged",
  replicated: "a save is on stable storage of more than one machine before it is acknowledged",
};

export async function healthAnswer(studio: StudioContext): Promise<HealthAnswer> {
  const { checkpointer, context, options, index } = studio;
  const capabilities = await checkpointer.connect();
  const timed = async (what: string, work: () => Promise<unknown>): Promise<{ what: string; ms: number }> => {
    const begun = process.hrtime.bigint();
    await work();
    return { what, ms: Number(process.hrtime.bigint() - begun) / 1e6 };
  };
  const list = context.call({ operation: "listThreads" }, (log) => log.listThreads({ prefix: "", limit: 1 }));
  const thread = (await list).items.find(isReadable);
  const latency = [
    await timed("list one thread", () =>
      context.call({ operation: "listThreads" }, (log) => log.listThreads({ prefix: "", limit: 1 })),
    ),
    ...(thread === undefined
      ? []
      : [
          await timed("look at a thread's end", () =>
            context.call({ operation: "tail" }, (log) => log.tail(thread.threadId)),
          ),
        ]),
  ];
  const asked = options.now();
  const theirs = context.log.capabilities.clock ? await context.storageNow() : undefined;
  let damaged = index.progress.unnamed ?? 0;
  for (const row of index.rows) if (row.trouble !== undefined) damaged++;
  const { maxRecordBytes } = capabilities.limits;
  return {
    backend: context.log.name,
    store: options.storeName,
    durability: capabilities.durability,
    durabilityMeans: DURABILITY[capabilities.durability],
    flags: CAPABILITY_FLAGS.map((name) => ({ name, value: capabilities[name], means: MEANS[name] })),
    maxRecordBytes: Number.isFinite(maxRecordBytes) ? maxRecordBytes : null,
    searchMethod: capabilities.searchMethod,
    latency,
    ...(theirs !== undefined && { clockAheadMs: Math.round(theirs - (asked + options.now()) / 2) }),
    threads: { ...index.progress, damaged },
    process: { heapBytes: process.memoryUsage().heapUsed, node: process.version },
  };
}
