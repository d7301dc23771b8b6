import type { CheckpointContext } from "../../checkpoint/context.ts";
import { assertNotHeld } from "../../checkpoint/people/holds.ts";
import { openHeader, type ThreadFacts } from "../../checkpoint/record/record.ts";
import { editsAt, type Tail, Thread, tailBehind } from "../../checkpoint/thread/thread.ts";
import { StateError } from "../../errors.ts";
import type { CheckpointInfo } from "../saver.ts";
import { Epoch } from "../thread/epoch.ts";
import { agentsThread } from "../thread/graph-kind.ts";
import { checkpointName, placeOf } from "../thread/graph-record.ts";
import type { ThreadWriter } from "../thread/graph-threads.ts";
import { infoOf } from "../thread/reading.ts";
import {
  everyRecord,
  inAppends,
  type Kept,
  keptOf,
  newestIds,
  type Records,
  recordOfKept,
  subjectsToKeep,
} from "./whole-thread.ts";

export interface Removal {
  /** Whether a checkpoint goes. `rank` counts from the newest of its namespace, which is 0. */
  readonly removes: (info: CheckpointInfo, rank: number) => boolean;
  /** Only counts. */
  readonly dryRun?: boolean;
}

/** How many went, and whether the thread went with them. */
export interface Removed {
  readonly checkpoints: number;
  readonly threads: number;
}

const NOTHING: Removed = { checkpoints: 0, threads: 0 };

const MOST_ATTEMPTS = 20;

/** A legal hold on one thread keeps no other from its turn: it is told when all are done. */
export const nothingWhereHeld =
  (held: StateError[]) =>
  (error: unknown): Removed => {
    if (!StateError.is(error, "HELD")) throw error;
    held.push(error);
    return NOTHING;
  };

/**
 * Removes checkpoints from a thread: what stays is rewritten after the tail, as a
 * new epoch, and with its last record everything before is dropped. So a concurrent
 * reader finds the thread as it was, and nothing of what was removed is left.
 */
export async function removeCheckpoints(
  context: CheckpointContext,
  writer: ThreadWriter,
  threadId: string,
  removal: Removal,
): Promise<Removed> {
  await writer.settled();
  return writer.alone(async () => {
    const thread = new Thread(context, threadId, "prune");
    for (const races = thread.races(MOST_ATTEMPTS); ; races.lost()) {
      const removed = await attempt(thread, removal);
      writer.adopt(undefined);
      if (removed !== undefined) return removed;
    }
  });
}

/** `undefined` if another writer wrote meanwhile. */
async function attempt(thread: Thread, removal: Removal): Promise<Removed | undefined> {
  const records = await everyRecord(thread);
  const last = records?.at(-1);
  if (records === undefined || last === undefined) return NOTHING;
  if (openHeader(last).thread?.kind !== "graph") throw agentsThread();
  const { generation } = records;
  const all = keptOf(records, generation);
  const going = goingOf(thread.id, all, removal);
  if (going.size === 0) return NOTHING;
  await assertNotHeld(thread.context, thread.id);
  const staying = all.filter((kept) => !going.has(kept));
  const removed = { checkpoints: going.size, threads: staying.length === 0 ? 1 : 0 };
  if (removal.dryRun === true) return removed;
  if (staying.length === 0) {
    return (await thread.remove(tailBehind(generation, last))) === "moved" ? undefined : removed;
  }
  return (await rewrite(thread, records, staying)) ? removed : undefined;
}

function goingOf(threadId: string, all: readonly Kept[], removal: Removal): ReadonlySet<Kept> {
  const going = new Set<Kept>();
  const ranks = new Map<string, number>();
  const byId = [...all].sort((a, b) => (a.id > b.id ? -1 : 1));
  for (const kept of byId) {
    const known = kept.epoch.find(kept);
    if (known === undefined) continue;
    const rank = ranks.get(kept.ns) ?? 0;
    ranks.set(kept.ns, rank + 1);
    if (removal.removes(infoOf(threadId, known), rank)) going.add(kept);
  }
  return withoutNeeded(threadId, all, going);
}

/**
 * LangGraph keeps the values of delta channels in the writes of a checkpoint's
 * ancestors, back to the last snapshot, and counts in the metadata how far that is.
 * What a kept checkpoint needs of them is kept too.
 */
function withoutNeeded(threadId: string, all: readonly Kept[], going: Set<Kept>): ReadonlySet<Kept> {
  const byName = new Map(all.map((kept) => [checkpointName(kept.ns, kept.id), kept]));
  for (const staying of all.filter((kept) => !going.has(kept))) {
    let at: Kept | undefined = staying;
    while (at !== undefined) {
      going.delete(at);
      const needed: Kept | undefined = byName.get(neededBy(threadId, at) ?? "");
      at = needed !== undefined && going.has(needed) ? needed : undefined;
    }
  }
  return going;
}

/** The name of the parent, where values of this checkpoint lie in its writes. */
function neededBy(threadId: string, { epoch, ns, id }: Kept): string | undefined {
  const known = epoch.find({ ns, id });
  if (known?.parentId === undefined) return undefined;
  const counters = infoOf(threadId, known).metadata["counters_since_delta_snapshot"];
  const counts = typeof counters === "object" && counters !== null && Object.keys(counters).length > 0;
  return counts ? checkpointName(ns, known.parentId) : undefined;
}

/** False if another writer wrote meanwhile. What was appended by then is a copy of existing content. */
async function rewrite(thread: Thread, records: Records, staying: readonly Kept[]): Promise<boolean> {
  const end = endOf(records);
  const epoch = new Epoch(records.generation);
  // A planned edit of the old records can tell that they are gone.
  const edited = { ...end.thread, edits: editsAt(end) + 1 };
  const { seq, writeId, greatest } = end;
  const newest = newestIds(staying);
  // Writes that wait for their checkpoint stand for nothing.
  const checkpoints = staying.filter((kept) => kept.epoch.find(kept) !== undefined);
  const head = checkpoints.find(({ ns, id }) => ns === "" && newest.get(ns) === id) ?? checkpoints.at(-1);
  // The thread's head stays what it is until the new epoch has its own: a prune may be interrupted between two batches.
  const headBefore = head === undefined ? 0 : end.head;
  Object.assign(epoch, { base: seq + 1, tail: seq, writeId, head: headBefore, thread: edited, greatest });
  const named = subjectsToKeep(records, staying);
  const written = staying.map((kept) => {
    const subjects = kept === named.in ? named.subjects : [];
    const isNewest = newest.get(kept.ns) === kept.id;
    return recordOfKept(thread.context, epoch, kept, { isNewest, isHead: kept === head, subjects });
  });
  let tail: Tail = end;
  for (const [record, ...more] of inAppends(written, (each) => each, thread.context)) {
    const newestOfPart = more.at(-1) ?? record;
    const isLast = newestOfPart === written.at(-1);
    const append = { record, ...(more.length > 0 && { more }), ...(isLast && { dropBelow: seq + 1 }) };
    if ((await thread.appendOnce({ append, behind: tail })) === undefined) return false;
    tail = tailBehind(tail.generation, newestOfPart);
  }
  return true;
}

/** Where the new epoch starts. The greatest id is kept, so that a smaller one is always looked up. */
function endOf(records: Records): Tail & { readonly greatest: string } {
  let greatest = "";
  let thread: ThreadFacts = { kind: "graph" };
  for (const record of records) {
    const header = openHeader(record);
    const id = header.graph?.greatest ?? placeOf(record, header)?.id ?? "";
    if (id > greatest) greatest = id;
    thread = header.thread ?? thread;
  }
  const last = records.at(-1);
  const tail = last === undefined ? records.tail : tailBehind(records.generation, last);
  return { ...tail, thread, greatest };
}
