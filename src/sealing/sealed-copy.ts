import { beginningOf, MOST_RECORDS, placeOfTail } from "../checkpoint/log/driver-rules.ts";
import type { AppendRequest, LogChain, LogEntry, LogRecord, ThreadLog } from "../checkpoint/log/thread-log.ts";
import { openHeader } from "../checkpoint/record/record.ts";
import { newId } from "../driver/ids.ts";
import { StateError } from "../errors.ts";
import type { LogSealer } from "./log-sealer.ts";
import type { ThreadPeople } from "./parts/thread-people.ts";
import { STAGING_PREFIX } from "./staging.ts";

/**
 * A copy under sealing: the source is read and opened, each record is sealed for
 * the target, and the target appears whole. Where it does not fit into one
 * append, it is first written under a name of its own, already sealed for the
 * target, and then renamed: the storage's own copy is used for nothing else.
 */

const PAGE = 256;
const MOST_READINGS = 20;
/** A copy that was interrupted leaves its staging thread behind; the next one takes it away. */
const ABANDONED_MS = 86_400_000;

type CopyOutcome = "copied" | "no source" | "target exists";

export async function copySealed(
  inner: ThreadLog,
  sealer: LogSealer,
  source: string,
  target: string,
  generation: string,
): Promise<CopyOutcome> {
  if (source === target) return (await inner.tail(source)) === undefined ? "no source" : "target exists";
  const read = await readWhole(inner, sealer, source);
  if (read === undefined) return "no source";
  if ((await inner.tail(target)) !== undefined) return "target exists";
  const sealed = await sealer.seal(target, generation, read.records, read.people);
  const ttl = read.ttlMs === undefined ? {} : { ttlMs: Math.max(1, read.ttlMs) };
  const [first, ...more] = sealed.records;
  if (first === undefined) return "no source";
  if (isDense(sealed.records) && fitsAtOnce(inner, sealed.records)) {
    const request = { expected: beginningOf(generation), record: first, ...(more.length > 0 && { more }), ...ttl };
    const outcome = await inner.append(target, request);
    return outcome.appended || outcome.generation === generation ? "copied" : "target exists";
  }
  return stage(inner, sealed.records, target, generation, ttl);
}

interface WholeThread {
  readonly records: readonly LogRecord[];
  readonly people: ThreadPeople;
  readonly ttlMs: number | undefined;
}

/** A page with fewer records than were asked for, and with no more bytes than these, is all there is. */
const SMALL_BYTES = 64 * 1024;

/**
 * Every record as of one moment. Most threads fit into one page, which is consistent by
 * itself. While a longer one is read, appended records do not matter, and an edit
 * means starting over.
 */
async function readWhole(inner: ThreadLog, sealer: LogSealer, source: string): Promise<WholeThread | undefined> {
  for (let readings = 0; readings < MOST_READINGS; readings++) {
    const begin = await inner.tail(source);
    if (begin === undefined) return undefined;
    const { ttlMs } = begin;
    const newest = await inner.readRecords(source, { limit: PAGE });
    if (newest === undefined || newest.generation !== begin.generation) continue;
    const { chain, people } = await sealer.openChain(source, newest);
    if (newest.records.length < PAGE && bytesOf(newest.records) <= SMALL_BYTES) {
      return { records: chain.records, people, ttlMs };
    }
    const records = await withOlder(inner, sealer, source, chain);
    const end = records && (await inner.tail(source));
    if (records === undefined || end?.generation !== chain.generation) continue;
    const { entry } = await sealer.open(source, end.entry, end.generation);
    if (entry.seq === chain.tail.seq || editsIn(entry) === editsIn(chain.tail)) return { records, people, ttlMs };
  }
  throw new StateError(
    "CONFLICT",
    "the thread is being edited all the time, so it cannot be copied now; try again later",
  );
}

/** These records and all before them; `undefined` where the thread was replaced meanwhile. */
async function withOlder(
  inner: ThreadLog,
  sealer: LogSealer,
  source: string,
  newest: LogChain,
): Promise<readonly LogRecord[] | undefined> {
  const pages = [newest.records];
  for (;;) {
    const before = pages[0]?.[0]?.seq ?? 1;
    if (before <= 1) return pages.flat();
    const found = await inner.readRecords(source, { before, limit: PAGE });
    if (found === undefined || found.generation !== newest.generation) return undefined;
    if (found.records.length === 0) return pages.flat();
    pages.unshift((await sealer.openChain(source, found)).chain.records);
  }
}

/** How often the thread was edited, as its tail says; another number each time where it does not say so. */
function editsIn(entry: LogEntry): number | symbol {
  try {
    return openHeader(entry).thread?.edits ?? 0;
  } catch {
    return Symbol();
  }
}

const isDense = (records: readonly LogRecord[]): boolean => records.every(({ seq }, index) => seq === index + 1);

const bytesOf = (records: readonly LogRecord[]): number => records.reduce((sum, { body }) => sum + body.byteLength, 0);

const fitsAtOnce = (inner: ThreadLog, records: readonly LogRecord[]): boolean =>
  records.length <= MOST_RECORDS && bytesOf(records) <= inner.capabilities.maxRecordBytes;

async function stage(
  inner: ThreadLog,
  records: readonly LogRecord[],
  target: string,
  generation: string,
  ttl: Pick<AppendRequest, "ttlMs">,
): Promise<CopyOutcome> {
  await removeAbandoned(inner);
  const staging = `${STAGING_PREFIX}${Date.now()}-${newId()}`;
  try {
    await writeStaging(inner, staging, records, ttl);
    return await inner.copy(staging, target, generation);
  } finally {
    await inner.remove(staging);
  }
}

/** A log takes a record only behind its tail, so positions without a record are filled and taken out with the last append. */
async function writeStaging(
  inner: ThreadLog,
  staging: string,
  records: readonly LogRecord[],
  ttl: Pick<AppendRequest, "ttlMs">,
): Promise<void> {
  let expected = beginningOf(newId());
  const first = records[0]?.seq ?? 1;
  const last = records.at(-1);
  if (last === undefined) return;
  const bySeq = new Map(records.map((record) => [record.seq, record]));
  const gaps: number[] = [];
  let batch: LogRecord[] = [];
  const flush = async (more: Partial<AppendRequest> = {}): Promise<void> => {
    const [record, ...others] = batch;
    if (record === undefined) return;
    const request = {
      expected,
      record,
      ...(others.length > 0 && { more: others }),
      ...more,
    };
    const { appended } = await inner.append(staging, request);
    if (!appended) throw new StateError("CONFLICT", "a copy was disturbed while it was written; try again");
    expected = placeOfTail({ generation: expected.generation, entry: others.at(-1) ?? record });
    batch = [];
  };
  for (let seq = 1; seq < last.seq; seq++) {
    const record = bySeq.get(seq);
    if (record === undefined && seq > first) gaps.push(seq);
    const next = record ?? filler(seq);
    if (!fitsAtOnce(inner, [...batch, next])) await flush();
    batch.push(next);
  }
  await flush();
  batch.push(last);
  await flush({
    ...(gaps.length > 0 && { drop: gaps }),
    ...(first > 1 && { dropBelow: first }),
    ...ttl,
  });
}

const filler = (seq: number): LogRecord => ({
  seq,
  writeId: newId(),
  base: seq,
  head: 0,
  checkpointId: undefined,
  header: "{}",
  metadata: undefined,
  body: Buffer.from("{}"),
  words: undefined,
});

async function removeAbandoned(inner: ThreadLog): Promise<void> {
  if (!inner.capabilities.listThreads) return;
  const { items } = await inner.listThreads({ prefix: STAGING_PREFIX, limit: PAGE });
  for (const { threadId } of items) {
    if (threadId === undefined) continue;
    const begun = Number.parseInt(threadId.slice(STAGING_PREFIX.length), 10);
    if (Date.now() - begun > ABANDONED_MS) await inner.remove(threadId);
  }
}
