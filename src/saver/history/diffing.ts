import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { StatePlace } from "../../checkpoint/history/compared-places.ts";
import { isGraphs, openHeader } from "../../checkpoint/record/record.ts";
import { StateError } from "../../errors.ts";
import { diffLists, eachDifference, type ListDiff, type StateDiff } from "../../state/diff.ts";
import { Epoch } from "../thread/epoch.ts";
import { agentsThread } from "../thread/graph-kind.ts";
import { placeOf } from "../thread/graph-record.ts";
import { foundIn, openCheckpoint } from "../thread/reading.ts";
import { plainReader } from "../values/unpacking.ts";

/** What changed between two checkpoints of graphs' threads, each channel that differs, lists by what is no longer or newly in them. */
export async function diffGraph(context: CheckpointContext, before: StatePlace, after: StatePlace): Promise<StateDiff> {
  const [a, b] = await Promise.all([dataOf(context, before), dataOf(context, after)]);
  const fields: Record<string, { before: unknown; after: unknown }> = Object.create(null);
  const lists: Record<string, ListDiff> = Object.create(null);
  eachDifference(a, b, (name, was, is) => {
    if (Array.isArray(was) && Array.isArray(is)) lists[name] = diffLists(was, is);
    else fields[name] = { before: was, after: is };
  });
  return { messages: { shared: 0, removed: [], added: [] }, fields, lists };
}

async function dataOf(
  context: CheckpointContext,
  { threadId, checkpointId }: StatePlace,
): Promise<Readonly<Record<string, unknown>>> {
  const name = checkpointId ?? (await headName(context, threadId)) ?? "";
  const place = { operation: "diff", threadId, checkpointId: name };
  const chain = await context.call(place, (log) => log.readCheckpoint(threadId, name));
  const last = chain?.records.at(-1);
  if (last !== undefined && !isGraphs(openHeader(last).thread)) throw agentsThread();
  const at = last && placeOf(last);
  const found = chain && at && foundIn(Epoch.of(chain), at);
  if (found !== undefined) return (await openCheckpoint(threadId, found, { foreign: plainReader })).checkpointData;
  const which = `thread ${JSON.stringify(threadId)} has no checkpoint ${JSON.stringify(name)}`;
  throw new StateError("NOT_FOUND", which, { threadId, checkpointId: name });
}

async function headName(context: CheckpointContext, threadId: string): Promise<string | undefined> {
  const [head] = await context.call({ operation: "diff", threadId }, async (log) => {
    const tail = await log.tail(threadId);
    return tail === undefined ? [] : log.list(threadId, { limit: 1, before: tail.entry.head + 1 });
  });
  return head?.checkpointId;
}
