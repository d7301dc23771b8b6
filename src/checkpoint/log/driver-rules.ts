import { isId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import type {
  AppendOutcome,
  AppendRequest,
  KnownPlace,
  LogChain,
  LogEntry,
  LogRecord,
  ThreadTail,
} from "./thread-log.ts";

/** About a hundred years. A longer time to live is cut to this, so that every storage can add it to its clock. */
export const LONGEST_TTL_MS = 3_155_760_000_000;

/** The most records that one append may bring, and the most names that a record may have beside its checkpoint id. */
export const MOST_RECORDS = 256;
export const MOST_NAMES = 16;

/** Every record of an append, in the order of their positions. */
export const recordsIn = ({ record, more = [] }: AppendRequest): readonly LogRecord[] =>
  more.length === 0 ? [record] : [record, ...more];

/** The names under which a record is found. */
export const namesOf = ({ checkpointId, names = [] }: LogEntry): readonly string[] =>
  checkpointId === undefined ? names : [checkpointId, ...names];

export const carries = (entry: LogEntry, name: string): boolean =>
  entry.checkpointId === name || entry.names?.includes(name) === true;

/** What an append expects that begins a thread. */
export const beginningOf = (generation: string): KnownPlace => ({ generation, seq: 0, writeId: "" });

export const placeOfTail = ({ generation, entry }: ThreadTail): KnownPlace => ({
  generation,
  seq: entry.seq,
  writeId: entry.writeId,
});

export const isSamePlace = (one: KnownPlace, other: KnownPlace): boolean =>
  one.seq === other.seq && one.generation === other.generation && one.writeId === other.writeId;

/** Whether a tail, or that there is none, is what an append or a removal expects. */
export const isExpected = (tail: ThreadTail | undefined, expected: KnownPlace): boolean =>
  tail === undefined ? expected.seq === 0 : isSamePlace(placeOfTail(tail), expected);

/**
 * Whether an append was made: by this call, or by an earlier one whose answer was lost. The record that occupies its
 * place is its own only if it is that very record. A write id alone does not say so: two clones of one virtual machine
 * draw the same random numbers. The header holds a checksum of everything else.
 */
export const wasAppended = (
  outcome: AppendOutcome,
  { record }: Pick<AppendRequest, "record">,
): outcome is Extract<AppendOutcome, { readonly appended: true }> =>
  outcome.appended || isSameRecord(outcome.occupant, record);

export const isSameRecord = (entry: LogEntry | undefined, record: LogEntry): boolean =>
  entry?.seq === record.seq && entry.writeId === record.writeId && entry.header === record.header;

/**
 * Whether the answer to a `readTail` that was told a place brought only what is newer: the place is in the thread then.
 * A whole chain begins at its base; if that is above the place, nothing of what was known before is needed for it.
 */
export function isNewsOf(place: KnownPlace, { generation, tail, records }: LogChain): boolean {
  if (generation !== place.generation) return false;
  const [first] = records;
  return first === undefined ? isSamePlace(placeOfTail({ generation, entry: tail }), place) : first.seq > place.seq;
}

/**
 * Refuses an append whose numbers point outside the thread's own history. Every
 * driver calls this before it does anything, and the service calls it on what a
 * client sent: a number that becomes part of a key must not reach another thread.
 */
export function assertAppend(request: AppendRequest): void {
  const { expected, record, more = [], replace = [], drop = [], dropBelow, ttlMs } = request;
  if (!isPosition(expected.seq, 0)) throw outside("expected.seq", expected.seq, "a position, or 0 for no thread");
  if ((expected.writeId === "") !== (expected.seq === 0)) {
    throw outside("expected.writeId", JSON.stringify(expected.writeId), "that of the tail, and empty for no thread");
  }
  if (record.seq !== expected.seq + 1) {
    throw outside("record.seq", record.seq, `expected.seq + 1, which is ${expected.seq + 1}`);
  }
  assertOwn("record", record);
  if (more.length >= MOST_RECORDS) throw outside("more", `${more.length} records`, `fewer than ${MOST_RECORDS}`);
  for (const [index, each] of more.entries()) {
    const seq = expected.seq + 2 + index;
    if (each.seq !== seq) throw outside(`more[${index}].seq`, each.seq, `the position behind the one before, ${seq}`);
    assertOwn(`more[${index}]`, each);
  }
  const earlier = `a position from 1 to ${expected.seq}`;
  const taken = new Set<number>();
  for (const each of replace) {
    if (!isPosition(each.seq, 1, expected.seq)) throw outside("replace[].seq", each.seq, earlier);
    assertOwn("replace[]", each);
    taken.add(each.seq);
  }
  for (const seq of drop) {
    if (!isPosition(seq, 1, expected.seq)) throw outside("drop[]", seq, earlier);
    taken.add(seq);
  }
  if (taken.size < replace.length + drop.length) {
    throw new StateError("INVALID_ARGUMENT", "an append names the same position twice in replace and drop");
  }
  if (dropBelow !== undefined && !isPosition(dropBelow, 1, record.seq)) {
    throw outside("dropBelow", dropBelow, `a position from 1 to ${record.seq}`);
  }
  if (ttlMs !== undefined && !(ttlMs > 0 && ttlMs <= LONGEST_TTL_MS)) {
    throw outside("ttlMs", ttlMs, `more than 0 and at most ${LONGEST_TTL_MS}`);
  }
}

/** A record builds on itself or on what is older, and its head is a checkpoint: itself, or an older one. */
function assertOwn(what: string, { seq, base, head, checkpointId, names }: LogEntry): void {
  if (!isPosition(base, 1, seq)) throw outside(`${what}.base`, base, `a position from 1 to ${seq}`);
  const newest = checkpointId === undefined ? seq - 1 : seq;
  if (!isPosition(head, 0, newest)) throw outside(`${what}.head`, head, `a position from 0 to ${newest}`);
  if (names !== undefined) assertNames(what, checkpointId, names);
}

function assertNames(what: string, checkpointId: string | undefined, names: readonly string[]): void {
  const wanted = `1 to ${MOST_NAMES} different ids, none of them its checkpoint id`;
  const different = new Set(names).add(checkpointId ?? "").size === names.length + 1;
  const fit = names.length >= 1 && names.length <= MOST_NAMES && names.every(isId);
  if (!fit || !different) throw outside(`${what}.names`, JSON.stringify(names).slice(0, 200), wanted);
}

/** The error of a driver that was told to replace a record that is not there. */
export const replacedNothing = (): StateError =>
  new StateError("INVALID_ARGUMENT", "an append replaces a record that is not there");

const isPosition = (value: unknown, least: number, most: number = Number.MAX_SAFE_INTEGER - 1): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;

const outside = (what: string, found: unknown, wanted: string): StateError =>
  new StateError("INVALID_ARGUMENT", `${what} of an append must be ${wanted}; it is ${String(found)}`);

/** The most bytes that one `readRecords` returns, unless a single record is larger. */
export const MOST_BYTES_READ: number = 8 * 1024 * 1024;

/** The newest of these ascending records: as many as `readRecords` returns at once. */
export function newestWithin(records: readonly LogRecord[], limit: number): readonly LogRecord[] {
  let first = records.length;
  for (let bytes = 0; first > 0 && records.length - first < limit; first--) {
    bytes += records[first - 1]?.body.byteLength ?? 0;
    if (bytes > MOST_BYTES_READ && first < records.length) break;
  }
  return records.slice(first);
}

/**
 * The first position that `readTail` returns to a reader that knows the thread up to `newerThan`. `there` is what is at
 * that position now, if anything; at the tail's it need not be given.
 */
export function firstUnknown(
  { generation, entry: tail }: ThreadTail,
  newerThan: KnownPlace | undefined,
  there: Pick<LogEntry, "writeId"> | undefined,
): number {
  if (newerThan === undefined || newerThan.generation !== generation || newerThan.seq > tail.seq) return tail.base;
  const found = newerThan.seq === tail.seq ? tail : there;
  return found?.writeId === newerThan.writeId ? Math.max(tail.base, newerThan.seq + 1) : tail.base;
}
