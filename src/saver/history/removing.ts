import type { CheckpointContext } from "../../checkpoint/context.ts";
import { beginningOf, MOST_RECORDS, placeOfTail, wasAppended } from "../../checkpoint/log/append-rules.ts";
import type { KnownPlace, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { assertNotHeld } from "../../checkpoint/people/holds.ts";
import { openHeader, type ThreadFacts } from "../../checkpoint/record/record.ts";
import { LostRaces } from "../../checkpoint/thread/lost-races.ts";
import { StateError } from "../../errors.ts";
import { subjectsToKeep } from "../erasing/thread-subjects.ts";
import { checkpointName, placeOf } from "../names.ts";
import type { CheckpointInfo } from "../saver.ts";
import { Epoch } from "../thread/epoch.ts";
import { agentsThread } from "../thread/graph-kind.ts";
import { infoOf } from "../thread/reading.ts";
import { sealKept } from "../thread/sealing.ts";
import type { ThreadWriter } from "../thread/thread-writer.ts";
import { everyRecord, type Kept, keptOf, newestIds, type Records } from "./whole-thread.ts";

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
    for (const races = new LostRaces(context, "prune", threadId, MOST_ATTEMPTS); ; races.lost()) {
      const removed = await attempt(context, threadId, removal);
      writer.adopt(undefined);
      if (removed !== undefined) return removed;
    }
  });
}

/** `undefined` if another writer wrote meanwhile. */
async function attempt(context: CheckpointContext, threadId: string, removal: Removal): Promise<Removed | undefined> {
  const records = await everyRecord(context, "prune", threadId);
  const last = records?.at(-1);
  if (records === undefined || last === undefined) return NOTHING;
  if (openHeader(last).thread?.kind !== "graph") throw agentsThread();
  const { generation } = records;
  const all = keptOf(records, generation);
  const going = goingOf(threadId, all, removal);
  if (going.size === 0) return NOTHING;
  await assertNotHeld(context, threadId);
  const staying = all.filter((kept) => !going.has(kept));
  const removed = { checkpoints: going.size, threads: staying.length === 0 ? 1 : 0 };
  if (removal.dryRun === true) return removed;
  if (staying.length === 0) {
    const ifTail = placeOfTail({ generation, entry: last });
    const outcome = await context.call({ operation: "prune", threadId }, (log) => log.remove(threadId, ifTail));
    return outcome === "moved" ? undefined : removed;
  }
  return (await rewrite(context, threadId, records, staying)) ? removed : undefined;
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
async function rewrite(
  context: CheckpointContext,
  threadId: string,
  records: Records,
  staying: readonly Kept[],
): Promise<boolean> {
  const { maxRecordBytes } = context.log.capabilities;
  const { tail, thread, greatest } = endOf(records);
  const epoch = new Epoch(records.generation);
  // A planned edit of the old records can tell that they are gone.
  const edited = { ...thread, edits: (thread.edits ?? 0) + 1 };
  const { seq } = tail;
  Object.assign(epoch, { base: seq + 1, tail: seq, writeId: tail.writeId, head: 0, thread: edited, greatest });
  const newest = newestIds(staying);
  const named = subjectsToKeep(records, staying);
  let expected = tail;
  let batch: LogRecord[] = [];
  let bytes = 0;
  for (const [index, kept] of staying.entries()) {
    const subjects = kept === named.in ? named.subjects : [];
    const record = sealKept(context, epoch, kept, { isNewest: newest.get(kept.ns) === kept.id, subjects });
    if (bytes + record.body.byteLength > maxRecordBytes || batch.length === MOST_RECORDS) {
      if (!(await append(context, threadId, expected, batch))) return false;
      expected = placeOfTail({ generation: tail.generation, entry: batch.at(-1) ?? record });
      [batch, bytes] = [[], 0];
    }
    batch.push(record);
    bytes += record.body.byteLength;
    if (index === staying.length - 1) return append(context, threadId, expected, batch, tail.seq + 1);
  }
  return true;
}

/** What the new epoch goes on from. The greatest id stays known, so that a smaller one is always looked for. */
function endOf(records: Records): { tail: KnownPlace; thread: ThreadFacts; greatest: string } {
  let greatest = "";
  let [tail, thread]: [KnownPlace, ThreadFacts] = [beginningOf(records.generation), { kind: "graph" }];
  for (const record of records) {
    const header = openHeader(record);
    const id = header.graph?.greatest ?? placeOf(record, header)?.id ?? "";
    if (id > greatest) greatest = id;
    tail = placeOfTail({ generation: records.generation, entry: record });
    thread = header.thread ?? thread;
  }
  return { tail, thread, greatest };
}

async function append(
  context: CheckpointContext,
  threadId: string,
  expected: KnownPlace,
  [record, ...more]: readonly LogRecord[],
  dropBelow?: number,
): Promise<boolean> {
  if (record === undefined) return true;
  const request = {
    expected,
    record,
    ...(more.length > 0 && { more }),
    ...(dropBelow !== undefined && { dropBelow }),
  };
  const outcome = await context.call({ operation: "prune", threadId }, (log) => log.append(threadId, request));
  return wasAppended(outcome, request);
}
