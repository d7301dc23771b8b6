import { readlink } from "node:fs/promises";
import { join } from "node:path";
import type { LogEntry, LogRecord } from "../../checkpoint/thread-log.ts";
import { StateError } from "../../errors.ts";
import { AT_ONCE, inParallel } from "../../internal/in-parallel.ts";
import { isGone } from "./classify.ts";
import { brokenLog } from "./damage.ts";
import { type LogPlace, locationOf, type Range, REMOVAL_MARK, recordPath } from "./layout.ts";
import { completeListing, isThere, type Listing, listLog, newestIn } from "./listing.ts";
import { withoutBody } from "./record-fields.ts";
import type { RecordEdits, StoredEntry, StoredRecord } from "./record-file.ts";
import type { RootDirectory } from "./root.ts";
import { Segment } from "./segment.ts";
import type { Row } from "./segment-file.ts";
import type { SegmentIndexes } from "./segment-indexes.ts";
import { AGAIN, untilSettled } from "./settling.ts";
import { readEntry, readRecord } from "./stored-record.ts";
import { findLog } from "./thread-directory.ts";

/**
 * Reads a thread as of one moment; `undefined` when it is not there. `read` may
 * be called more than once: what it found is thrown away if records were
 * replaced or dropped while it was at it.
 */
export function readThread<T>(
  root: RootDirectory,
  threadDirectory: string,
  read: (snapshot: Snapshot) => Promise<T>,
): Promise<T | undefined> {
  return untilSettled(async () => {
    const place = await findLog(root, threadDirectory);
    if (place === undefined) return undefined;
    const snapshot = await takeSnapshot(root, place);
    if (snapshot.tail.removed) return undefined;
    try {
      const found = await read(snapshot);
      return (await snapshot.stillHolds()) ? found : AGAIN;
    } catch (error) {
      // What looks torn may be a log that was edited under the reader's eyes.
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
    return new Snapshot(place, { listing, tail, pending: undefined, indexes });
  }
  const tail = await readTailEntry(place, newest);
  const pending = tail.editing ? await readRecord(place, newest) : undefined;
  return new Snapshot(place, { listing, tail, pending: pending?.edits && pending, indexes });
}

/** Nothing is folded that ends the thread or has unfinished edits. */
async function foldedTail(place: LogPlace, { segments }: Listing, indexes: SegmentIndexes): Promise<StoredEntry> {
  const range = segments.at(-1) ?? { from: 1, to: 0 };
  return Segment.use(place, range, { indexes }, async (segment) => {
    const row = segment.row(range.to);
    const [entry] = row === undefined ? [] : await segment.entries([row]);
    if (entry === undefined) throw brokenLog(locationOf(place, range), "misses its last record");
    const { threadId, generation, log } = segment.index.head;
    return { threadId, generation, log, entry, removed: false, editing: false };
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
  return { threadId: "", generation: "", log, entry, removed: true, editing: false };
};

interface Sight {
  readonly listing: Listing;
  readonly tail: StoredEntry;
  readonly pending: StoredRecord | undefined;
  readonly indexes: SegmentIndexes;
}

/**
 * A log at one tail, seen through the edits that the tail may carry. Reading a
 * file that was folded or dropped since then fails as gone. Newest files are
 * read first, because they are the next to be folded.
 */
export class Snapshot {
  readonly place: LogPlace;
  readonly tail: StoredEntry;
  /** The tail with edits that were perhaps not carried out to the end. */
  readonly pending: StoredRecord | undefined;
  readonly listing: Listing;
  /** Positions of the records that count and have a file of their own, ascending. */
  readonly loose: readonly number[];
  readonly #replaced: ReadonlyMap<number, LogRecord>;
  readonly #indexes: SegmentIndexes;

  constructor(place: LogPlace, { listing, tail, pending, indexes }: Sight) {
    this.place = place;
    this.listing = listing;
    this.tail = tail;
    this.pending = pending;
    this.#indexes = indexes;
    this.loose = listing.loose.filter((seq) => this.#counts(seq));
    this.#replaced = new Map(pending?.edits?.replace.map((record) => [record.seq, record]));
  }

  /** Whether the tail's edits put another record there. */
  isReplaced(seq: number): boolean {
    return this.#replaced.has(seq);
  }

  /** The entry of the newest checkpoint, if there is any. */
  async head(): Promise<LogEntry | undefined> {
    const { head } = this.tail.entry;
    if (head === 0) return undefined;
    const entry = await this.entry(head);
    if (entry === undefined) throw brokenLog(locationOf(this.place, head), "is missing");
    return entry;
  }

  /** `undefined` when there is no record at that position. */
  async entry(seq: number): Promise<LogEntry | undefined> {
    if (seq === this.tail.entry.seq) return this.tail.entry;
    const replaced = this.#replaced.get(seq);
    if (replaced !== undefined && this.#counts(seq)) return withoutBody(replaced);
    if (this.loose.includes(seq)) return (await readEntry(this.place, seq, this.tail)).entry;
    const range = this.listing.segments.find(({ from, to }) => from <= seq && seq <= to);
    if (range === undefined || !this.#counts(seq)) return undefined;
    return this.#use(range, async (segment) => {
      const row = segment.row(seq);
      return row && (await segment.entries([row]))[0];
    });
  }

  /** Every record from one position to another, both included. */
  async records(from: number, to: number): Promise<readonly LogRecord[]> {
    const found: LogRecord[] = [];
    for await (const some of this.eachRecord({ from, to })) found.push(...some);
    return found;
  }

  /** The same, some at a time. Every file is open before the first is read: however long that takes, folding does not disturb it. */
  async *eachRecord(wanted: Range): AsyncGenerator<readonly LogRecord[], void, undefined> {
    const loose = await inParallel(
      this.loose.filter((seq) => isIn(wanted, seq)),
      async (seq) => this.#replaced.get(seq) ?? (await readRecord(this.place, seq, this.tail)).record,
    );
    const opened: { readonly segment: Segment; readonly part: Range }[] = [];
    try {
      for (const [index, range] of this.listing.segments.entries()) {
        const part = within(wanted, range, this.listing.segments[index - 1]);
        if (part !== undefined) opened.push({ segment: await this.#open(range), part });
      }
      for (const { segment, part } of opened) {
        const rows = segment.rows(part).filter(({ seq }) => this.#counts(seq));
        for await (const some of segment.records(rows)) yield some.map((one) => this.#replaced.get(one.seq) ?? one);
      }
    } finally {
      for (const { segment } of opened) await segment.close();
    }
    yield loose;
  }

  /** Entries of checkpoints below a position, newest first. */
  async checkpoints(before: number, limit: number): Promise<readonly LogEntry[]> {
    const found: LogEntry[] = [];
    const loose = this.loose.filter((seq) => seq < before);
    while (loose.length > 0 && found.length < limit) {
      const some = loose.splice(-Math.min(AT_ONCE, limit - found.length)).reverse();
      const entries = await inParallel(some, (seq) => this.entry(seq));
      found.push(
        ...entries.filter((entry) => entry !== undefined).filter(({ checkpointId }) => checkpointId !== undefined),
      );
    }
    for (const [index, range] of [...this.listing.segments.entries()].reverse()) {
      const part = within({ from: 1, to: before - 1 }, range, this.listing.segments[index - 1]);
      if (found.length >= limit || part === undefined) continue;
      found.push(...(await this.#use(range, (segment) => this.#newestIn(segment, part, limit - found.length))));
    }
    return found;
  }

  async #newestIn(segment: Segment, part: Range, limit: number): Promise<readonly LogEntry[]> {
    const rows = segment.rows(part);
    const named: Row[] = [];
    // Backwards, and no further than needed: a history is long, and a page of it short.
    for (let index = rows.length - 1; index >= 0 && named.length < limit; index--) {
      const row = rows[index];
      const isNamed = row !== undefined && (this.#replaced.get(row.seq) ?? row).checkpointId !== undefined;
      if (isNamed && this.#counts(row.seq)) named.push(row);
    }
    const entries = await segment.entries(named.reverse());
    return entries.map((entry) => this.#asEdited(entry)).reverse();
  }

  #asEdited(entry: LogEntry): LogEntry {
    const replaced = this.#replaced.get(entry.seq);
    return replaced === undefined ? entry : withoutBody(replaced);
  }

  /** The position of a checkpoint in the folded part of the history. */
  async findFolded(checkpointId: string): Promise<number | undefined> {
    for (const record of this.#replaced.values()) {
      if (record.checkpointId === checkpointId && this.#counts(record.seq)) return record.seq;
    }
    for (const range of this.listing.segments.toReversed()) {
      const row = await this.#use(range, async ({ index }) =>
        index.rows.findLast(
          ({ seq, checkpointId: id }) => id === checkpointId && this.#counts(seq) && !this.isReplaced(seq),
        ),
      );
      if (row !== undefined) return row.seq;
    }
    return undefined;
  }

  /** Whether no record was replaced or dropped since the listing: then all that was read belongs together. */
  async stillHolds(): Promise<boolean> {
    const [edition] = this.listing.editions;
    if (edition !== undefined) return isThere(join(this.place.path, edition));
    return (await listLog(this.place.path)).editions.length === 0;
  }

  #open(range: Range): Promise<Segment> {
    return Segment.open(this.place, range, { owner: this.tail, indexes: this.#indexes });
  }

  async #use<T>(range: Range, use: (segment: Segment) => Promise<T>): Promise<T> {
    return Segment.use(this.place, range, { owner: this.tail, indexes: this.#indexes }, use);
  }

  /** Whether the tail's edits leave the position as it is. */
  #counts(seq: number): boolean {
    const edits = this.pending?.edits;
    return edits === undefined || !isDropped(edits, seq);
  }
}

const isIn = ({ from, to }: Range, seq: number): boolean => from <= seq && seq <= to;

/** The part of a segment's range that is wanted and that the segment before does not hold. */
export function within(wanted: Range, { from, to }: Range, before: Range | undefined): Range | undefined {
  const part = { from: Math.max(wanted.from, from, (before?.to ?? 0) + 1), to: Math.min(wanted.to, to) };
  return part.from <= part.to ? part : undefined;
}

export const isDropped = ({ drop, dropBelow }: RecordEdits, seq: number): boolean =>
  seq < dropBelow || drop.includes(seq);
