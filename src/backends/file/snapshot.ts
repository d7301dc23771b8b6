import { readdir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import type { LogEntry, LogRecord } from "../../checkpoint/thread-log.ts";
import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/in-parallel.ts";
import { isGone } from "./classify.ts";
import { brokenLog } from "./damage.ts";
import { isStagingName, type LogPlace, locationOf, positionOfFile, REMOVAL_MARK, recordPath } from "./layout.ts";
import { type RecordEdits, type StoredEntry, type StoredRecord, withoutBody } from "./record-file.ts";
import type { RootDirectory } from "./root.ts";
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
    const snapshot = await takeSnapshot(place);
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

/** What the names in a log say. */
export interface Listing {
  /** Ascending. */
  readonly seqs: readonly number[];
  readonly stagings: readonly string[];
}

export async function listLog(path: string): Promise<Listing> {
  const names = await readdir(path);
  const seqs = names.map(positionOfFile).filter((seq) => seq !== undefined);
  return { seqs: seqs.sort((a, b) => a - b), stagings: names.filter(isStagingName).sort() };
}

export async function takeSnapshot(place: LogPlace): Promise<Snapshot> {
  const { seqs: first, stagings } = await listLog(place.path);
  const last = first.at(-1);
  if (last === undefined) throw brokenLog(locationOf(place), "holds no record");
  const seqs = hasGap(first) ? await namesUpTo(place, first, last) : first;
  const tail = await readTailEntry(place, last);
  const pending = tail.editing ? await readRecord(place, last) : undefined;
  return new Snapshot(place, { seqs, stagings }, tail, pending?.edits === undefined ? undefined : pending);
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

const hasGap = (seqs: readonly number[]): boolean => (seqs.at(-1) ?? 0) - (seqs[0] ?? 0) + 1 > seqs.length;

/**
 * A listing may show a name that was made while it ran and not the one made
 * just before. A second look, begun after the last was seen, cannot miss it.
 */
async function namesUpTo(place: LogPlace, seen: readonly number[], last: number): Promise<readonly number[]> {
  const { seqs } = await listLog(place.path);
  return [...new Set([...seen, ...seqs])].filter((seq) => seq <= last).sort((a, b) => a - b);
}

/** A log at one tail, seen through the edits that the tail may carry. Reading a file that has since been dropped fails as gone. */
export class Snapshot {
  readonly place: LogPlace;
  readonly tail: StoredEntry;
  /** The tail with edits that were perhaps not carried out to the end. */
  readonly pending: StoredRecord | undefined;
  /** Positions of the records that count, ascending. */
  readonly seqs: readonly number[];
  readonly listing: Listing;
  readonly #replaced: ReadonlyMap<number, LogRecord>;

  constructor(place: LogPlace, listing: Listing, tail: StoredEntry, pending: StoredRecord | undefined) {
    this.place = place;
    this.listing = listing;
    this.tail = tail;
    this.pending = pending;
    const edits = pending?.edits;
    this.seqs = edits === undefined ? listing.seqs : listing.seqs.filter((seq) => !isDropped(edits, seq));
    this.#replaced = new Map(edits?.replace.map((record) => [record.seq, record]));
  }

  /** Whether the tail's edits put another record there. */
  isReplaced(seq: number): boolean {
    return this.#replaced.has(seq);
  }

  /** The entry of the newest checkpoint, if there is any. */
  async head(): Promise<LogEntry | undefined> {
    const { head } = this.tail.entry;
    if (head === 0) return undefined;
    if (!this.seqs.includes(head)) throw brokenLog(locationOf(this.place, head), "is missing");
    return this.entry(head);
  }

  async entry(seq: number): Promise<LogEntry> {
    if (seq === this.tail.entry.seq) return this.tail.entry;
    const replaced = this.#replaced.get(seq);
    return replaced === undefined ? (await readEntry(this.place, seq, this.tail)).entry : withoutBody(replaced);
  }

  async record(seq: number): Promise<LogRecord> {
    return this.#replaced.get(seq) ?? (await readRecord(this.place, seq, this.tail)).record;
  }

  /** Every record from one position to another, both included. */
  records(from: number, to: number): Promise<readonly LogRecord[]> {
    const wanted = this.seqs.filter((seq) => seq >= from && seq <= to);
    return inParallel(wanted, (seq) => this.record(seq));
  }

  /** Whether no record was replaced or dropped since the listing: then all that was read belongs together. */
  async stillHolds(): Promise<boolean> {
    const [staging] = this.listing.stagings;
    if (staging === undefined) return (await listLog(this.place.path)).stagings.length === 0;
    try {
      await stat(join(this.place.path, staging));
      return true;
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  }
}

export const isDropped = ({ drop, dropBelow }: RecordEdits, seq: number): boolean =>
  seq < dropBelow || drop.includes(seq);
