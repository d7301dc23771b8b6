import type { CheckpointContext } from "../../checkpoint/context.ts";
import { beginningOf, MOST_RECORDS, placeOfTail } from "../../checkpoint/log/driver-rules.ts";
import type { KnownPlace, LogRecord, ThreadTail } from "../../checkpoint/log/thread-log.ts";
import { openHeader } from "../../checkpoint/record/record.ts";
import { LostRaces } from "../../checkpoint/thread/thread.ts";
import { newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { sameAs } from "./comparing.ts";
import { relocated } from "./relocated.ts";
import type { SourceThread } from "./source-thread.ts";

/** What to do with a thread of the same id that is no earlier part of the one that comes. */
export type OnConflict = "fail" | "skip" | "replace";

export interface Placed {
  readonly outcome: "copied" | "there already" | "skipped";
  /** How many records were appended. */
  readonly records: number;
  readonly bytes: number;
}

/** So much goes into one append. */
const BATCH_BYTES = 1024 * 1024;

/**
 * Puts a thread into a store. No file records how far it got: the store does. Records keep
 * their write ids, so a thread that was copied in part is recognised by its tail and
 * continued after it. `took` is called with every batch, and may wait.
 */
export async function placeThread(
  context: CheckpointContext,
  source: SourceThread,
  onConflict: OnConflict,
  signal: AbortSignal,
  took: (bytes: number) => Promise<void> = async () => undefined,
): Promise<Placed> {
  const { threadId, outline } = source;
  const place = { operation: "copy", threadId };
  assertFits(context, source);
  let tail = await context.call(place, (log) => log.tail(threadId));
  if (tail !== undefined && !(await isPartOf(context, source, tail))) {
    if (onConflict === "skip") return { outcome: "skipped", records: 0, bytes: 0 };
    if (onConflict === "fail") throw another(threadId);
    const ifTail = placeOfTail(tail);
    if ((await context.call(place, (log) => log.remove(threadId, ifTail))) === "moved") throw another(threadId);
    tail = undefined;
  }
  let expected = tail === undefined ? beginningOf(newId()) : placeOfTail(tail);
  const start = expected.seq;
  if (start === outline.length) return { outcome: "there already", records: 0, bytes: 0 };
  let bytes = 0;
  for await (const batch of batches(context, source, start)) {
    signal.throwIfAborted();
    expected = await append(context, source, expected, batch);
    const written = batch.reduce((sum, { body }) => sum + body.byteLength, 0);
    bytes += written;
    await took(written);
  }
  return { outcome: "copied", records: outline.length - start, bytes };
}

/** Whether the target's thread is the beginning of the source's, or all of it. */
export async function isPartOf(context: CheckpointContext, source: SourceThread, tail: ThreadTail): Promise<boolean> {
  const { outline, edits } = source;
  const { seq, writeId } = tail.entry;
  if (outline[seq - 1]?.writeId !== writeId) return false;
  // Where nothing was replaced or taken out since, a tail is proof of all that is before it.
  if ((openHeader(tail.entry).thread?.edits ?? 0) === edits) return true;
  return sameAs(context, source, seq);
}

/** Said before anything is written, so that no half of a thread is left behind. */
export function assertFits(context: CheckpointContext, source: SourceThread): void {
  const { threadId, outline, ttlMs } = source;
  const { maxRecordBytes, ttl } = context.log.capabilities;
  const at = outline.findIndex(({ bytes }) => bytes > maxRecordBytes);
  if (at !== -1) {
    const message = `record ${outline[at]?.seq} has ${outline[at]?.bytes} bytes; the target takes ${maxRecordBytes}`;
    throw new StateError("TOO_LARGE", message, { threadId });
  }
  assertNothingMissing(source);
  if (ttlMs !== undefined && !ttl) {
    throw new StateError("UNSUPPORTED", "it expires by itself, and the target cannot do that", {
      threadId,
      capability: "ttl",
    });
  }
}

/**
 * A graph's record says how many there are since its base, marks not counted.
 * Its new position must not hide that one of them is lost.
 */
function assertNothingMissing({ threadId, outline }: SourceThread): void {
  let before = 0;
  for (const { seq, isGraphs, kind, count } of outline) {
    if (!isGraphs || (kind !== "base" && kind !== "delta")) continue;
    const isNext = kind === "base" || count === before + 1;
    before = count;
    if (isNext) continue;
    const message = `a record before record ${seq} is missing, and others build on it`;
    throw new StateError("CORRUPT", message, { threadId, location: `record ${seq}` });
  }
}

async function* batches(
  context: CheckpointContext,
  source: SourceThread,
  start: number,
): AsyncGenerator<readonly [LogRecord, ...LogRecord[]]> {
  const most = Math.min(BATCH_BYTES, context.log.capabilities.maxRecordBytes);
  let batch: LogRecord[] = [];
  let bytes = 0;
  for await (const original of source.read(start)) {
    const record = relocated(original, source.outline, context.log);
    const [first, ...more] = batch;
    if (first !== undefined && (bytes + record.body.byteLength > most || batch.length >= MOST_RECORDS / 2)) {
      yield [first, ...more];
      [batch, bytes] = [[], 0];
    }
    batch.push(record);
    bytes += record.body.byteLength;
  }
  const [first, ...more] = batch;
  if (first !== undefined) yield [first, ...more];
}

/** Returns where the next batch goes. Another copy of the same thread may be under way: what it brought has the same write ids, and counts. */
async function append(
  context: CheckpointContext,
  { threadId, outline, ttlMs }: SourceThread,
  behind: KnownPlace,
  batch: readonly [LogRecord, ...LogRecord[]],
): Promise<KnownPlace> {
  const last = batch.at(-1) ?? batch[0];
  const races = new LostRaces(context, "copy", threadId);
  let expected = behind;
  for (;;) {
    const [record, ...more] = batch.filter(({ seq }) => seq > expected.seq);
    if (record === undefined) return expected;
    const request = { expected, record, more, ...(ttlMs !== undefined && { ttlMs }) };
    const outcome = await context.call({ operation: "copy", threadId }, (log) => log.append(threadId, request));
    if (outcome.appended) return placeOfTail({ generation: expected.generation, entry: last });
    const { tail, generation = expected.generation } = outcome;
    if (tail === undefined || outline[tail.seq - 1]?.writeId !== tail.writeId) throw another(threadId);
    expected = placeOfTail({ generation, entry: tail });
    races.lost();
  }
}

const another = (threadId: string): StateError =>
  new StateError(
    "CONFLICT",
    "the target has another thread of this id, or one that was written to or edited since; --on-conflict replace puts this one in its place",
    { threadId },
  );
