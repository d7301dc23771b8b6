import type { CheckpointContext } from "../../checkpoint/context.ts";
import { wordsInTexts } from "../../checkpoint/graphs/graph-words.ts";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { writtenFacts } from "../../checkpoint/people/erasure-mark.ts";
import { type GraphFacts, type RecordFields, withChecksum } from "../../checkpoint/record/record.ts";
import { newId } from "../../driver/ids.ts";
import { namingSubjects } from "../erasing/thread-subjects.ts";
import { type CheckpointPlace, checkpointName, longPlace, newestName } from "../names.ts";
import type { Packed } from "../values/packed.ts";
import { deltaOf } from "../values/parts.ts";
import type { PoolMark } from "../values/pool.ts";
import { type CheckpointBody, encodeBody, type WriteCall } from "./body.ts";
import type { Epoch, KnownCheckpoint, KnownWrite } from "./epoch.ts";
import type { PutOperation } from "./operations.ts";

/** A record that is ready to be appended, and the epoch it belongs to. */
export interface Planned {
  readonly record: LogRecord;
  readonly epoch: Epoch;
}

/** What a record is to hold. */
export interface Content {
  readonly checkpoint: CheckpointBody | undefined;
  readonly writes: readonly WriteCall[];
  readonly isNewest: boolean;
  /** Present where the record puts the checkpoint, and so is listed. */
  readonly put?: Pick<PutOperation, "parentId" | "metadata" | "createdAt">;
  /** Of a record that puts none: where nothing but waiting writes is left to say whom the thread is about. */
  readonly metadata?: string | undefined;
  readonly live: number;
  /** Whether it brings something that was not in the thread before. */
  readonly isNew: boolean;
  /** Whether it stands for the thread. @default the newest of the root does, and whatever is first */
  readonly isHead?: boolean;
}

/** About what a record weighs beside its body. */
const RECORD_WEIGHT = 300;

/** The next record of an epoch, which takes it in. `mark` is where the pool stood before the content was interned. */
export function graphRecord(
  context: CheckpointContext,
  epoch: Epoch,
  place: CheckpointPlace,
  mark: PoolMark,
  content: Content,
): Planned {
  const { checkpoint, writes, isNewest, put, live, isNew } = content;
  const { ns, id } = place;
  const name = checkpointName(ns, id);
  const seq = epoch.tail + 1;
  const body = encodeBody({ pool: epoch.pool.since(mark), writes, ...(checkpoint !== undefined && { checkpoint }) });
  const weight = body.byteLength + RECORD_WEIGHT;
  const isBase = seq === epoch.base;
  const graph: GraphFacts = {
    ...longPlace(name, place),
    ...(put?.parentId !== undefined && { parent: put.parentId }),
    ...(id < epoch.greatest && { greatest: epoch.greatest }),
    fresh: epoch.fresh + (isNew && !isBase ? weight : 0),
  };
  const names = [...(put === undefined ? [name] : []), ...(isNewest ? [newestName(ns)] : [])];
  const isHead = content.isHead ?? (put !== undefined && ((ns === "" && isNewest) || epoch.head === 0));
  const fields: RecordFields = {
    kind: isBase ? "base" : "delta",
    createdAt: put?.createdAt ?? context.now(),
    buildsOn: isBase ? 0 : seq - 1,
    schema: 0,
    messageCount: 0,
    chain: { records: epoch.records + 1, bytes: epoch.range + weight, liveBytes: live, baseBytes: isBase ? weight : 0 },
    graph,
    thread: writtenFacts(epoch.thread) ?? epoch.thread,
  };
  const record = withChecksum({
    seq,
    writeId: newId(),
    base: epoch.base,
    head: isHead ? seq : epoch.head,
    checkpointId: put === undefined ? undefined : name,
    ...(names.length > 0 && { names }),
    metadata: put === undefined ? content.metadata : put.metadata,
    body,
    words: wordsToAppend(context, body),
    fields,
  });
  const header = { ...fields, format: 0, bodyBytes: body.byteLength };
  epoch.advance(record, header);
  epoch.keep(record, header, place, { checkpoint, writes });
  return { record, epoch };
}

/** For a backend that indexes while it appends. */
const wordsToAppend = ({ log }: CheckpointContext, body: Uint8Array): string | undefined =>
  log.capabilities.search === "with words" ? wordsInTexts(Buffer.from(body).toString()) : undefined;

interface KeptFacts extends Pick<Content, "isNewest" | "isHead"> {
  /** In place of when it was put. */
  readonly createdAt?: number;
  /** @default true */
  readonly hasWrites?: boolean;
  /** Named in its metadata as well. */
  readonly subjects?: readonly string[];
}

/** A checkpoint of another epoch, or writes that wait for theirs, as they are, in this one. */
export function sealKept(
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
  return graphRecord(context, epoch, place, mark, content).record;
}

/** Writes as calls that make them again. */
export const callsOf = (writes: readonly KnownWrite[]): readonly WriteCall[] =>
  writes.map(({ taskId, ...write }) => ({ taskId, replaces: false, writes: [write] }));

/** Writes of an older epoch, with what they share taken into this one. */
export function relinked(older: Epoch, epoch: Epoch, writes: readonly KnownWrite[]): readonly KnownWrite[] {
  const done = new Map<number, Packed>();
  return writes.map((write) => ({ ...write, text: epoch.pool.intern(older.pool.unlink(write.text, done)) }));
}

/** The same for the parts of a checkpoint. */
export function relinkedParts(older: Epoch, epoch: Epoch, known: KnownCheckpoint): ReadonlyMap<string, string> {
  const done = new Map<number, Packed>();
  return new Map(
    [...older.partsOf(known)].map(([key, text]) => [key, epoch.pool.intern(older.pool.unlink(text, done))]),
  );
}
