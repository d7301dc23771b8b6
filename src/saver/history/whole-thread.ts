import type { CheckpointContext } from "../../checkpoint/context.ts";
import { MOST_RECORDS } from "../../checkpoint/log/driver-rules.ts";
import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { decodeMetadata, encodeMetadata } from "../../checkpoint/record/metadata.ts";
import { type Tail, type Thread, tailOf } from "../../checkpoint/thread/thread.ts";
import { subjectsIn } from "../../state/people/subjects.ts";
import { Epoch, type NewContent } from "../thread/epoch.ts";
import { type CheckpointPlace, checkpointName } from "../thread/graph-record.ts";
import { callsOf, relinked, relinkedParts } from "../thread/planning.ts";
import { deltaOf } from "../values/parts.ts";

/** A graph's thread read as a whole, and what of it stays or is forked written anew. */

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

interface KeptFacts extends Pick<NewContent, "isNewest" | "isHead"> {
  /** In place of when it was put. */
  readonly createdAt?: number;
  /** @default true */
  readonly hasWrites?: boolean;
  /** Named in its metadata as well. */
  readonly subjects?: readonly string[];
}

/** A checkpoint of another epoch, or writes that wait for theirs, as they are, in the next record of this one. */
export function recordOfKept(
  context: CheckpointContext,
  epoch: Epoch,
  { epoch: from, ...place }: CheckpointPlace & { readonly epoch: Epoch },
  { createdAt, hasWrites = true, subjects = [], ...facts }: KeptFacts,
): LogRecord {
  const known = from.find(place);
  const { mark } = epoch.pool;
  const texts = known && relinkedParts(from, epoch, known);
  const parent = known?.parentId === undefined ? undefined : epoch.find({ ns: place.ns, id: known.parentId });
  const parts = texts && deltaOf(parent === undefined ? new Map() : epoch.partsOf(parent), texts);
  const writes = hasWrites ? callsOf(relinked(from, epoch, from.writesOf(place))) : [];
  const checkpoint = parts && { on: parent?.seq ?? 0, parts };
  const metadata = namingSubjects(known?.metadata, subjects);
  const put = known && { ...known, metadata, ...(createdAt !== undefined && { createdAt }) };
  const content = { checkpoint, writes, ...facts, live: 0, isNew: false, metadata, ...(put !== undefined && { put }) };
  return epoch.append(context, place, mark, content);
}

/** In parts that one append takes. */
export function* inAppends<Item>(
  items: Iterable<Item>,
  recordOf: (item: Item) => LogRecord,
  { log }: CheckpointContext,
): Generator<readonly [Item, ...Item[]]> {
  let part: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const { byteLength } = recordOf(item).body;
    if (part.length === MOST_RECORDS || (part.length > 0 && bytes + byteLength > log.capabilities.maxRecordBytes)) {
      yield part as [Item, ...Item[]];
      [part, bytes] = [[], 0];
    }
    part.push(item);
    bytes += byteLength;
  }
  if (part.length > 0) yield part as [Item, ...Item[]];
}

/**
 * Whom a graph's thread is about: the metadata of any of its checkpoints say so. What
 * is left of a thread, or forked from it, is still about the same people, whichever of
 * its checkpoints named them.
 */

export const subjectsNamedBy = ({ metadata }: Pick<LogEntry, "metadata">): readonly string[] =>
  metadata === undefined ? [] : subjectsIn(decodeMetadata(metadata, "metadata")["subject"]);

/** Who has to be named anew, and in which of the places that stay: in the first, so that all that follow are known to be about them. */
export function subjectsToKeep(
  records: readonly LogEntry[],
  staying: readonly Kept[],
): { readonly subjects: readonly string[]; readonly in: Kept | undefined } {
  const lost = new Set(records.flatMap(subjectsNamedBy));
  for (const kept of staying) {
    const known = kept.epoch.find(kept);
    for (const subject of known === undefined ? [] : subjectsNamedBy(known)) lost.delete(subject);
  }
  const first = staying.find((kept) => kept.epoch.find(kept) !== undefined) ?? staying[0];
  return { subjects: [...lost], in: lost.size === 0 ? undefined : first };
}

/** The metadata, which name these people as well. */
export function namingSubjects(metadata: string | undefined, subjects: readonly string[]): string | undefined {
  if (subjects.length === 0) return metadata;
  const members = metadata === undefined ? {} : decodeMetadata(metadata, "metadata");
  return encodeMetadata({ ...members, subject: [...subjectsIn(members["subject"]), ...subjects] });
}
