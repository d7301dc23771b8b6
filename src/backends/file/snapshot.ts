import { readlink } from "node:fs/promises";
import { join } from "node:path";
import { namesOf } from "../../checkpoint/log/driver-rules.ts";
import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { isGone } from "./classify.ts";
import { brokenLog } from "./damage.ts";
import { type LogPlace, locationOf, type Range, REMOVAL_MARK, recordPath } from "./layout.ts";
import { completeListing, isThere, type Listing, listLog, newestIn } from "./listing.ts";
import { withoutBody } from "./record-fields.ts";
import { type RecordEdits, recordsOf, type StoredEntry, type StoredRecord } from "./record-file.ts";
import type { RootDirectory } from "./root.ts";
import { Segment } from "./segment.ts";
import type { SegmentIndexes } from "./segment-indexes.ts";
import { readEntries, readEntry, readRecord } from "./stored-record.ts";
import { findLog } from "./thread-directory.ts";
import { AGAIN, untilUndisturbed } from "./undisturbed.ts";

/**
 * Reads a thread at one moment; `undefined` if it does not exist. `read` may be
 * called more than once: its result is discarded if records were replaced or dropped
 * meanwhile.
 */
export function readThread<T>(
  root: RootDirectory,
  threadDirectory: string,
  read: (snapshot: Snapshot) => Promise<T>,
): Promise<T | undefined> {
  return untilUndisturbed(async () => {
    const place = await findLog(root, threadDirectory);
    if (place === undefined) return undefined;
    const snapshot = await takeSnapshot(root, place);
    if (snapshot.tail.removed) return undefined;
    try {
      const found = await read(snapshot);
      return (await snapshot.stillHolds()) ? found : AGAIN;
    } catch (error) {
      // Apparent damage may be a log that was edited during the read.
      if (StateError.is(error) && !(await snapshot.stillHolds())) return AGAIN;
      throw error;
    }
  });
}

export async function takeSnapshot({ indexes }: RootDirectory, place: LogPlace): Promise<Snapshot> {
  const listing = await completeListing(place);
  const newest = newestIn(listing);
  if (newest === 0) throw brokenLog(locationOf(place), "holds no record");
  if (newest !== listing.loose.at(-1)) {
    const tail = await foldedTail(place, listing, indexes);
    return new Snapshot(place, { listing, tail, newestEntries: [], pending: undefined, indexes });
  }
  const stored = await readTailEntry(place, newest);
  const whole = stored.editing || stored.upTo > newest ? await readRecord(place, newest) : undefined;
  const newestEntries = whole === undefined ? [stored.entry] : recordsOf(whole).map(withoutBody);
  const tail = { ...stored, entry: newestEntries.at(-1) ?? stored.entry };
  return new Snapshot(place, { listing, tail, newestEntries, pending: whole?.edits && whole, indexes });
}

/** Neither a record that removes the thread nor one with unfinished edits is folded. */
async function foldedTail(place: LogPlace, { segments }: Listing, indexes: SegmentIndexes): Promise<StoredEntry> {
  const range = segments.at(-1) ?? { from: 1, to: 0 };
  return Segment.use(place, range, { indexes }, async (segment) => {
    const row = segment.row(range.to);
    const [entry] = row === undefined ? [] : await segment.entries([row]);
    if (entry === undefined) throw brokenLog(locationOf(place, range), "misses its last record");
    const { threadId, generation, log } = segment.index.head;
    return { threadId, generation, log, entry, upTo: entry.seq, removed: false, editing: false };
  });
}

async function readTailEntry(place: LogPlace, seq: number): Promise<StoredEntry> {
  try {
    return await readEntry(place, seq);
  } catch (error) {
    if (isGone(error) && (await isRemovalMark(recordPath(place, seq)))) return removedTail(place, seq);
    throw error;
  }
}

const isRemovalMark = (path: string): Promise<boolean> =>
  readlink(path).then(
    (target) => target === REMOVAL_MARK,
    () => false,
  );

const removedTail = ({ log }: LogPlace, seq: number): StoredEntry => {
  const entry = { seq, writeId: "", base: seq, head: 0, checkpointId: undefined, header: "{}", metadata: undefined };
  return { threadId: "", generation: "", log, entry, upTo: seq, removed: true, editing: false };
};

interface Sight {
  readonly listing: Listing;
  readonly tail: StoredEntry;
  /** The entries of the newest file; empty if everything is folded. */
  readonly newestEntries: readonly LogEntry[];
  readonly pending: StoredRecord | undefined;
  readonly indexes: SegmentIndexes;
}

/** The position of a record, and the names under which it is found. */
export type NamedPlace = Pick<LogEntry, "seq" | "checkpointId" | "names">;

/**
 * A log at one tail, with the tail's edits applied. Reading a file that was folded
 * or dropped since then fails as "gone". The newest files are read first, because
 * they are the next to be folded.
 */
export class Snapshot {
  readonly place: LogPlace;
  /** Its entry is that of the newest record. */
  readonly tail: StoredEntry;
  /** The newest file, with edits that may be unfinished. */
  readonly pending: StoredRecord | undefined;
  readonly listing: Listing;
  /** The files of records that are not folded, by their first positions, ascending; without those that are dropped completely. */
  readonly files: readonly number[];
  readonly #newestEntries: readonly LogEntry[];
  readonly #replaced: ReadonlyMap<number, LogRecord>;
  readonly #indexes: SegmentIndexes;

  constructor(place: LogPlace, { listing, tail, newestEntries, pending, indexes }: Sight) {
    this.place = place;
    this.listing = listing;
    this.tail = tail;
    this.pending = pending;
    this.#newestEntries = newestEntries;
    this.#indexes = indexes;
    const { loose } = listing;
    const edits = pending?.edits;
    this.files = loose.filter(
      (file, index) => edits === undefined || !isAllDropped(edits, file, loose[index + 1] ?? tail.entry.seq + 1),
    );
    this.#replaced = new Map(edits?.replace.map((record) => [record.seq, record]));
  }

  /** Whether the tail's edits leave a record at the position. */
  counts(seq: number): boolean {
    const edits = this.pending?.edits;
    return edits === undefined || !isDropped(edits, seq);
  }

  /** What is at a position after the tail's edits. */
  asEdited<Place extends { readonly seq: number }>(found: Place): Place | LogRecord {
    return this.#replaced.get(found.seq) ?? found;
  }

  /** Whether the record at a place exists and is found under the name. */
  isNamed(found: NamedPlace, name: string): boolean {
    return this.counts(found.seq) && namesOf(this.asEdited(found) as LogEntry).includes(name);
  }

  /** The entry of the head checkpoint, if there is one. */
  async head(): Promise<LogEntry | undefined> {
    const { head } = this.tail.entry;
    if (head === 0) return undefined;
    const entry = await this.entry(head);
    if (entry === undefined) throw brokenLog(locationOf(this.place, head), "is missing");
    return entry;
  }

  /** `undefined` if there is no record at that position. */
  async entry(seq: number): Promise<LogEntry | undefined> {
    if (seq === this.tail.entry.seq) return this.tail.entry;
    if (!this.counts(seq)) return undefined;
    const replaced = this.#replaced.get(seq);
    if (replaced !== undefined) return withoutBody(replaced);
    const range = this.listing.segments.find(({ from, to }) => from <= seq && seq <= to);
    if (range === undefined) return this.#looseEntry(seq);
    return this.useSegment(range, async (segment) => {
      const row = segment.row(seq);
      return row && (await segment.entries([row]))[0];
    });
  }

  /** A file may also hold later records. */
  async #looseEntry(seq: number): Promise<LogEntry | undefined> {
    const file = this.files.findLast((first) => first <= seq);
    return file === undefined ? undefined : (await this.entriesAsWritten(file)).find((entry) => entry.seq === seq);
  }

  /** The entries of a file, without the tail's edits. */
  async entriesAsWritten(file: number): Promise<readonly LogEntry[]> {
    if (file === this.#newestEntries[0]?.seq) return this.#newestEntries;
    return readEntries(this.place, file, this.tail);
  }

  /** The records of a file that still exist. */
  async recordsIn(file: number): Promise<readonly LogRecord[]> {
    const records = recordsOf(await readRecord(this.place, file, this.tail));
    return records.filter(({ seq }) => this.counts(seq)).map((record) => this.asEdited(record));
  }

  /** Every record from one position to another, both included. */
  async records(from: number, to: number): Promise<readonly LogRecord[]> {
    const found: LogRecord[] = [];
    for await (const some of this.eachRecord({ from, to })) found.push(...some);
    return found;
  }

  /**
   * The same, in batches. Every file is opened before the first is read, so that
   * folding does not disturb it, however long it takes.
   */
  async *eachRecord(wanted: Range): AsyncGenerator<readonly LogRecord[], void, undefined> {
    const loose = (await inParallel(this.#filesWith(wanted), (file) => this.recordsIn(file))).flat();
    const opened: { readonly segment: Segment; readonly part: Range }[] = [];
    try {
      for (const [index, range] of this.listing.segments.entries()) {
        const part = within(wanted, range, this.listing.segments[index - 1]);
        if (part !== undefined) opened.push({ segment: await this.#open(range), part });
      }
      for (const { segment, part } of opened) {
        const rows = segment.rows(part).filter(({ seq }) => this.counts(seq));
        for await (const some of segment.records(rows)) yield some.map((one) => this.asEdited(one));
      }
    } finally {
      for (const { segment } of opened) await segment.close();
    }
    yield loose.filter(({ seq }) => isIn(wanted, seq));
  }

  /** Files that may hold part of a range: each may reach up to where the next begins. */
  #filesWith({ from, to }: Range): readonly number[] {
    const end = this.tail.entry.seq + 1;
    return this.files.filter((file, index) => file <= to && (this.files[index + 1] ?? end) > from);
  }

  /** The position of the newest record with that name in the folded part of the history. */
  async findFolded(name: string): Promise<number | undefined> {
    for (const range of this.listing.segments.toReversed()) {
      const row = await this.useSegment(range, async ({ index }) =>
        index.rows.findLast((one) => this.isNamed(one, name)),
      );
      if (row !== undefined) return row.seq;
    }
    return undefined;
  }

  /** Whether no record was replaced or dropped since the listing: then everything that was read belongs together. */
  async stillHolds(): Promise<boolean> {
    const [edition] = this.listing.editions;
    if (edition !== undefined) return isThere(join(this.place.path, edition));
    return (await listLog(this.place.path)).editions.length === 0;
  }

  #open(range: Range): Promise<Segment> {
    return Segment.open(this.place, range, { owner: this.tail, indexes: this.#indexes });
  }

  async useSegment<T>(range: Range, use: (segment: Segment) => Promise<T>): Promise<T> {
    return Segment.use(this.place, range, { owner: this.tail, indexes: this.#indexes }, use);
  }
}

const isIn = ({ from, to }: Range, seq: number): boolean => from <= seq && seq <= to;

/** The part of a segment's range that is wanted and that the previous segment does not hold. */
export function within(wanted: Range, { from, to }: Range, before: Range | undefined): Range | undefined {
  const part = { from: Math.max(wanted.from, from, (before?.to ?? 0) + 1), to: Math.min(wanted.to, to) };
  return part.from <= part.to ? part : undefined;
}

export const isDropped = ({ drop, dropBelow }: RecordEdits, seq: number): boolean =>
  seq < dropBelow || drop.includes(seq);

/** Whether all positions from one up to another (exclusive) are dropped. */
export function isAllDropped({ drop, dropBelow }: RecordEdits, from: number, end: number): boolean {
  const first = Math.max(from, dropBelow);
  return drop.filter((seq) => first <= seq && seq < end).length >= end - first;
}
