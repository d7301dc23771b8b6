import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { LogRecord, ThreadTail } from "../../checkpoint/log/thread-log.ts";
import { LostRaces } from "../../checkpoint/thread/lost-races.ts";
import { type CheckpointPlace, checkpointName } from "../names.ts";
import { Epoch } from "../thread/epoch.ts";

/** Everything that the newest records say of one checkpoint, or of writes that wait for theirs. */
export interface Kept extends CheckpointPlace {
  readonly epoch: Epoch;
}

/** Records, and the thread's tail when the first of them were read: those after it may be missing. */
export type Records = readonly LogRecord[] & { readonly generation: string; readonly tail: ThreadTail };

const PAGE = 500;

/** All records of a thread, oldest first. A thread that is recreated meanwhile is another one, and is read from its start. */
export async function everyRecord(
  context: CheckpointContext,
  operation: string,
  threadId: string,
): Promise<Records | undefined> {
  for (const races = new LostRaces(context, operation, threadId); ; races.lost()) {
    const records = await readThrough(context, operation, threadId);
    if (records !== "made anew") return records;
  }
}

async function readThrough(
  context: CheckpointContext,
  operation: string,
  threadId: string,
): Promise<Records | "made anew" | undefined> {
  const pages: (readonly LogRecord[])[] = [];
  let tail: ThreadTail | undefined;
  for (let before: number | undefined; ; ) {
    const query = { limit: PAGE, ...(before !== undefined && { before }) };
    const chain = await context.call({ operation, threadId }, (log) => log.readRecords(threadId, query));
    const first = chain?.records[0];
    if (chain === undefined || first === undefined) break;
    const { generation } = chain;
    if (tail !== undefined && tail.generation !== generation) return "made anew";
    tail ??= { generation, entry: chain.tail };
    pages.unshift(chain.records);
    before = first.seq;
  }
  return tail && Object.assign(pages.flat(), { generation: tail.generation, tail });
}

/** Every checkpoint, and every place that only has writes, as the newest epoch that knows it has it; in the order of the records. */
export function keptOf(records: readonly LogRecord[], generation: string): readonly Kept[] {
  const epochs: Epoch[] = [];
  let open: Epoch | undefined;
  let base = 0;
  for (const record of records) {
    if (open === undefined || record.base !== base) {
      open = new Epoch(generation);
      epochs.push(open);
      base = record.base;
    }
    open.take(record);
  }
  const newest = new Map<string, Kept>();
  for (const epoch of epochs) {
    for (const place of epoch.places()) newest.set(checkpointName(place.ns, place.id), { ...place, epoch });
  }
  return [...newest.values()].sort((a, b) => putAt(a) - putAt(b));
}

const putAt = ({ epoch, ns, id }: Kept): number => epoch.find({ ns, id })?.seq ?? Number.POSITIVE_INFINITY;

/** The id of the newest checkpoint of each namespace. */
export function newestIds(kept: readonly Kept[]): ReadonlyMap<string, string> {
  const newest = new Map<string, string>();
  for (const { ns, id, epoch } of kept) {
    if (epoch.find({ ns, id }) !== undefined && id > (newest.get(ns) ?? "")) newest.set(ns, id);
  }
  return newest;
}
