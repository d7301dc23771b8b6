import type { DeltaChannelHistory } from "@langchain/langgraph-checkpoint";
import { inWriteOrder } from "../../saver/saver.ts";
import type { GraphThreads } from "../../saver/thread/graph-threads.ts";
import { type FoundCheckpoint, foundIn } from "../../saver/thread/reading.ts";
import { partKey } from "../../saver/values/parts.ts";
import { type ForeignReader, Unpacker } from "../../saver/values/unpacking.ts";

type PendingWrite = [taskId: string, channel: string, value: unknown];

/**
 * The writes that make up delta channels: those of the checkpoint's ancestors, up
 * to the nearest one that has a value. The ancestors lie in the records that one
 * read fetched; only behind a base is another one needed.
 */
export async function deltaHistory(
  threads: GraphThreads,
  threadId: string,
  ns: string,
  id: string | undefined,
  channels: readonly string[],
  foreign: ForeignReader,
): Promise<Record<string, DeltaChannelHistory>> {
  const writes = new Map<string, PendingWrite[][]>(channels.map((channel) => [channel, []]));
  const seeds = new Map<string, unknown>();
  const remaining = new Set(channels);
  let at: FoundCheckpoint | undefined = await threads.find(threadId, ns, id);
  while (at?.known.parentId !== undefined && remaining.size > 0) {
    at = await parentOf(threads, threadId, at);
    if (at === undefined) break;
    const unpacker = new Unpacker(at.epoch.pool, { foreign });
    const own = inWriteOrder(at.writes).filter(({ channel }) => remaining.has(channel));
    const values = await Promise.all(own.map(({ text }) => unpacker.value(text)));
    for (const channel of remaining) {
      const block = own.flatMap((write, index): PendingWrite[] =>
        write.channel === channel ? [[write.taskId, channel, values[index]]] : [],
      );
      writes.get(channel)?.unshift(block);
      const seed = at.parts.get(partKey(["channel_values", channel]));
      if (seed === undefined) continue;
      seeds.set(channel, await unpacker.value(seed));
      remaining.delete(channel);
    }
  }
  return Object.fromEntries(
    channels.map((channel) => [
      channel,
      { writes: writes.get(channel)?.flat() ?? [], ...(seeds.has(channel) && { seed: seeds.get(channel) }) },
    ]),
  );
}

async function parentOf(
  threads: GraphThreads,
  threadId: string,
  { known, epoch }: FoundCheckpoint,
): Promise<FoundCheckpoint | undefined> {
  const { ns, parentId = "" } = known;
  return foundIn(epoch, { ns, id: parentId }) ?? threads.find(threadId, ns, parentId);
}
