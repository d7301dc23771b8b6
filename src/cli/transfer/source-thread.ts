import { createHash } from "node:crypto";
import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { LogChain, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { isGraphs, openHeader, type RecordHeader } from "../../checkpoint/record/record.ts";
import { StateError } from "../../errors.ts";
import { asChangeOf, changeOf } from "../../saver/thread/graph-record.ts";

/** What is kept of a record while its thread is moved: enough to know it again, and to find its new position. */
export interface OutlinedRecord {
  readonly seq: number;
  readonly base: number;
  readonly head: number;
  readonly kind: RecordHeader["kind"];
  readonly buildsOn: number;
  readonly writeId: string;
  readonly isCheckpoint: boolean;
  readonly isGraphs: boolean;
  /** For a graph's: the position that its checkpoint is a change of. 0 where there is no such. */
  readonly changes: number;
  /** How many records of the thread are needed to read it, itself included. */
  readonly count: number;
  readonly bytes: number;
  readonly digest: string;
}

/** A thread as it is to be somewhere else, wherever it comes from. */
export interface SourceThread {
  readonly threadId: string;
  /** Oldest first, without leases, which are rewritten all the time, and without signals. */
  readonly outline: readonly OutlinedRecord[];
  /** How often records were replaced or taken out. */
  readonly edits: number;
  readonly ttlMs?: number;
  /** The records of the outline from an index on, in order. */
  read(from: number): AsyncIterable<LogRecord>;
}

/** Everything of a record but its position and what follows from that. */
export function digestOf(record: LogRecord): string {
  const { writeId, checkpointId, names, metadata, seq, body } = record;
  const fields = JSON.stringify([writeId, checkpointId ?? null, names ?? [], metadata ?? null]);
  const elsewhere = isGraphContent(record) ? asChangeOf(body, seq, 0) : body;
  return createHash("sha256").update(fields).update(elsewhere).digest("base64url").slice(0, 22);
}

/** Whether the body is a graph's, which names a position. Marks have a body of another kind. */
export const isGraphContent = (record: LogRecord, header: RecordHeader = openHeader(record)): boolean =>
  isGraphs(header.thread) && header.graph !== undefined;

/** The position that a record's body names, where it is a graph's. */
export const changesOf = (record: LogRecord, header: RecordHeader = openHeader(record)): number =>
  isGraphContent(record, header) ? changeOf(record.body, record.seq) : 0;

export function outlined(record: LogRecord): OutlinedRecord {
  const { seq, base, head, writeId, checkpointId, body } = record;
  const header = openHeader(record);
  const { kind, buildsOn, thread, chain } = header;
  const bytes = body.byteLength;
  return {
    seq,
    base,
    head,
    kind,
    buildsOn,
    writeId,
    isCheckpoint: checkpointId !== undefined,
    isGraphs: isGraphs(thread),
    changes: changesOf(record, header),
    count: chain.records,
    bytes,
    digest: digestOf(record),
  };
}

/**
 * A lease has no meaning in another store, and signals wait in the thread that they were
 * sent to.
 */
export function isLeftBehind(record: LogRecord): boolean {
  const { kind } = openHeader(record);
  return kind === "lease" || kind === "signal";
}

const PAGE = 256;
/** A thread up to this size is read once and kept; a larger one is read a second time, part by part. */
const MOST_KEPT_BYTES = 8 * 1024 * 1024;
const WINDOW_BYTES = 4 * 1024 * 1024;

/** A thread of a store as it is now; `undefined` where there is none. What is saved meanwhile is for the next time. */
export async function threadOf(context: CheckpointContext, threadId: string): Promise<SourceThread | undefined> {
  const place = { operation: "copy", threadId };
  const end = await context.call(place, (log) => log.tail(threadId));
  if (end === undefined) return undefined;
  const { thread } = openHeader(end.entry);
  if (thread?.moved !== undefined) {
    throw new StateError("CONFLICT", `it was moved to ${thread.moved.to}; copy it from there`, { threadId });
  }
  const edits = thread?.edits ?? 0;
  const { outline, kept } = await outlineOf(context, threadId, end.generation, edits);
  return {
    threadId,
    outline,
    edits,
    ...(end.ttlMs !== undefined && { ttlMs: end.ttlMs }),
    read: (from) => (kept === undefined ? windows(context, threadId, end.generation, outline, from) : all(kept, from)),
  };
}

async function* all(records: readonly LogRecord[], from: number): AsyncGenerator<LogRecord> {
  yield* records.slice(from);
}

interface Outlined {
  readonly outline: readonly OutlinedRecord[];
  readonly kept: readonly LogRecord[] | undefined;
}

async function outlineOf(
  context: CheckpointContext,
  threadId: string,
  generation: string,
  edits: number,
): Promise<Outlined> {
  const newestFirst: OutlinedRecord[] = [];
  let kept: LogRecord[] | undefined = [];
  let bytes = 0;
  for (let before: number | undefined; ; ) {
    const chain = await readRecords(context, threadId, before, PAGE);
    if (chain?.generation !== generation || (openHeader(chain.tail).thread?.edits ?? 0) !== edits)
      throw changed(threadId);
    const [oldest] = chain.records;
    if (oldest === undefined) break;
    for (const record of chain.records.toReversed().filter((one) => !isLeftBehind(one))) {
      newestFirst.push(outlined(record));
      bytes += record.body.byteLength;
      if (bytes > MOST_KEPT_BYTES) kept = undefined;
      kept?.push(record);
    }
    before = oldest.seq;
  }
  return { outline: newestFirst.reverse(), kept: kept?.reverse() };
}

/** Part by part, each from its end: that is how a log hands records over. */
async function* windows(
  context: CheckpointContext,
  threadId: string,
  generation: string,
  outline: readonly OutlinedRecord[],
  from: number,
): AsyncGenerator<LogRecord> {
  for (let start = from; start < outline.length; ) {
    const end = windowEnd(outline, start);
    const first = outline[start]?.seq ?? 0;
    const found: LogRecord[] = [];
    for (let before = (outline[end - 1]?.seq ?? 0) + 1; before > first; ) {
      const chain = await readRecords(context, threadId, before, end - start);
      const [oldest] = chain?.records ?? [];
      if (chain?.generation !== generation || oldest === undefined) throw changed(threadId);
      found.push(...chain.records.filter((record) => record.seq >= first && !isLeftBehind(record)).reverse());
      before = oldest.seq;
    }
    found.reverse();
    const isSame =
      found.length === end - start && found.every((one, at) => digestOf(one) === outline[start + at]?.digest);
    if (!isSame) throw changed(threadId);
    yield* found;
    start = end;
  }
}

function windowEnd(outline: readonly OutlinedRecord[], start: number): number {
  let [end, bytes] = [start, 0];
  while (end < outline.length && end - start < PAGE) {
    bytes += outline[end]?.bytes ?? 0;
    if (bytes > WINDOW_BYTES && end > start) break;
    end++;
  }
  return end;
}

const readRecords = (
  context: CheckpointContext,
  threadId: string,
  before: number | undefined,
  limit: number,
): Promise<LogChain | undefined> =>
  context.call({ operation: "copy", threadId }, (log) =>
    log.readRecords(threadId, { limit, ...(before !== undefined && { before }) }),
  );

const changed = (threadId: string): StateError =>
  new StateError("CONFLICT", "its records were changed while they were read; run the same command again", { threadId });
