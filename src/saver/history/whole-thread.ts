import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { type Tail, type Thread, tailOf } from "../../checkpoint/thread/thread.ts";
import { type CheckpointPlace, checkpointName } from "../names.ts";
import { Epoch } from "../thread/epoch.ts";

/** Everything that the newest records say of one checkpoint, or of writes that wait for theirs. */
export interface Kept extends CheckpointPlace {
  readonly epoch: Epoch;
}

/** Records, and the thread's tail when the first of them were read: those after it may be missing. */
export type Records = readonly LogRecord[] & { readonly generation: string; readonly tail: Tail };

const PAGE = 500;

/** All records of a thread, oldest first. A thread that is recreated meanwhile is another one, and is read from its start. */
export async function everyRecord(thread: Thread): Promise<Records | undefined> {
  for (const races = thread.races(); ; races.lost()) {
    const records = await readThrough(thread);
    if (records !== "made anew") return records;
  }
}

async function readThrough(thread: Thread): Promise<Records | "made anew" | undefined> {
  const pages: (readonly LogRecord[])[] = [];
  let tail: Tail | undefined;
  for (let before: number | undefined; ; ) {
    const chain = await thread.page(before, PAGE);
    const first = chain?.records[0];
    if (chain === undefined || first === undefined) break;
    const { generation } = chain;
    if (tail !== undefined && tail.generation !== generation) return "made anew";
    tail ??= tailOf({ generation, entry: chain.tail });
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
