import type { AppendRequest, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { Removals, syncDirectory } from "./durable-names.ts";
import { replaceAt } from "./durable-write.ts";
import { type LogPlace, type Range, recordFileName, recordPath, segmentPath } from "./layout.ts";
import { foldedTo, isThere, listLog } from "./listing.ts";
import { looseFiles, looseLines } from "./loose-lines.ts";
import { type RecordEdits, renderRecord, type StoredRecord } from "./record-file.ts";
import type { RootDirectory } from "./root.ts";
import { Segment } from "./segment.ts";
import { type RawLines, type Row, rawLines, segmentText } from "./segment-file.ts";
import { renderLine } from "./segment-line.ts";
import { isDropped, type Snapshot, takeSnapshot, within } from "./snapshot.ts";
import { changeEdition, renewStaging } from "./staging.ts";
import { readEntry } from "./stored-record.ts";
import { untilUndisturbed } from "./undisturbed.ts";

/** The edits of an append, if it has any. */
export function editsOf({ replace = [], drop = [], dropBelow = 0 }: AppendRequest): RecordEdits | undefined {
  return replace.length + drop.length + dropBelow === 0 ? undefined : { replace, drop, dropBelow };
}

/**
 * Carries out the tail's edits, if it has any. Any process may do so, also several
 * at once and after any interruption: each step leads to the same files. A process
 * that is overtaken loses its staging directory and fails as "gone".
 */
export async function finishEdits(root: RootDirectory, place: LogPlace): Promise<void> {
  await changeEdition(place);
  const staging = await renewStaging(root, place);
  const snapshot = await takeSnapshot(root, place);
  const { pending } = snapshot;
  if (pending?.edits === undefined) return;
  await new Editing(root, snapshot, pending, pending.edits, staging).carryOut();
}

/** After a commit. If the whole log has been deleted since, there is nothing left to do. */
export function finishOwnEdits(root: RootDirectory, place: LogPlace): Promise<void> {
  return untilUndisturbed(async () => {
    if (await isThere(place.path)) await finishEdits(root, place);
  });
}

class Editing {
  readonly #root: RootDirectory;
  readonly #snapshot: Snapshot;
  readonly #tail: StoredRecord;
  readonly #edits: RecordEdits;
  readonly #replaced: ReadonlyMap<number, LogRecord>;
  readonly #staging: string;
  /** The files whose names are removed or replaced, until that is on the disk. */
  readonly #removals: Removals;

  constructor(root: RootDirectory, snapshot: Snapshot, tail: StoredRecord, edits: RecordEdits, staging: string) {
    this.#root = root;
    this.#snapshot = snapshot;
    this.#tail = tail;
    this.#edits = edits;
    this.#replaced = new Map(edits.replace.map((record) => [record.seq, record]));
    this.#staging = staging;
    this.#removals = new Removals(snapshot.place.path);
  }

  async carryOut(): Promise<void> {
    try {
      await this.#carryOut();
    } finally {
      await this.#removals.settle();
    }
  }

  async #carryOut(): Promise<void> {
    const { place, listing } = this.#snapshot;
    // If the beginning of the history is dropped, most of it is rewritten anyway: then all of it becomes one file.
    if (this.#edits.dropBelow > 0) await this.#join(1, listing.segments);
    else {
      for (const range of listing.segments) await this.#editSegment(range);
      if (await this.#changesOneOfSeveral()) await this.#join(foldedTo(listing) + 1, []);
      else await this.#replaceLoose();
    }
    const dropped = listing.loose.filter((seq) => isDropped(this.#edits, seq)).map(recordFileName);
    const { covered } = await listLog(place.path);
    for (const name of [...dropped, ...covered]) await this.#removals.remove(name);
    // The edits must be on the disk before they are removed from the tail.
    await this.#removals.settle();
    const tail = renderRecord({ ...this.#tail, edits: undefined });
    await replaceAt(recordPath(place, this.#tail.record.seq), tail, this.#staging, this.#removals);
  }

  /** Whether the edits drop or replace a record that shares its file with others. */
  async #changesOneOfSeveral(): Promise<boolean> {
    const { place, listing } = this.#snapshot;
    const changed = [...this.#edits.drop, ...this.#replaced.keys()];
    for (const [index, file] of listing.loose.entries()) {
      // Only up to the tail's own file, which edits do not affect.
      const end = listing.loose[index + 1] ?? file;
      const mayBe = end > file + 1 && changed.some((seq) => file <= seq && seq < end);
      if (mayBe && (await readEntry(place, file, this.#tail)).upTo > file) return true;
    }
    return false;
  }

  /** Joins some segments and all files below the tail's into one edited segment. It is on the disk before they are removed. */
  async #join(from: number, segments: readonly Range[]): Promise<void> {
    await this.#writeSegment({ from, to: this.#tail.record.seq - 1 }, this.#allLines(segments));
    await syncDirectory(this.#snapshot.place.path);
  }

  async *#allLines(segments: readonly Range[]): AsyncGenerator<RawLines, void, undefined> {
    const { place, files } = this.#snapshot;
    const older = files.filter((file) => file < this.#tail.record.seq);
    for (const [index, range] of segments.entries()) {
      const part = within(range, range, segments[index - 1]);
      const segment = await this.#open(range);
      try {
        if (part !== undefined) yield* this.#edited(segment, segment.rows(part));
      } finally {
        await segment.close();
      }
    }
    yield* looseLines(await looseFiles(place, older), (file) => this.#snapshot.recordsIn(file));
  }

  async #editSegment(range: Range): Promise<void> {
    const segment = await this.#open(range);
    try {
      const { rows } = segment.index;
      const isConcerned = rows.some(({ seq }) => isDropped(this.#edits, seq) || this.#replaced.has(seq));
      if (isConcerned) await this.#writeSegment(range, this.#edited(segment, rows));
    } finally {
      await segment.close();
    }
  }

  /** The lines of some rows, with the edits applied. */
  async *#edited(segment: Segment, rows: readonly Row[]): AsyncGenerator<RawLines, void, undefined> {
    let asTheyAre: Row[] = [];
    for (const row of rows.filter(({ seq }) => !isDropped(this.#edits, seq))) {
      const replacement = this.#replaced.get(row.seq);
      if (replacement === undefined) asTheyAre.push(row);
      else {
        yield* segment.lines(asTheyAre);
        asTheyAre = [];
        yield rawLines([renderLine(replacement)]);
      }
    }
    yield* segment.lines(asTheyAre);
  }

  async #replaceLoose(): Promise<void> {
    const { place, files } = this.#snapshot;
    for (const record of this.#edits.replace.filter(({ seq }) => files.includes(seq))) {
      const bytes = renderRecord({ ...this.#tail, record, more: [], edits: undefined });
      await replaceAt(recordPath(place, record.seq), bytes, this.#staging, this.#removals);
    }
  }

  #open(range: Range): Promise<Segment> {
    return Segment.open(this.#snapshot.place, range, { owner: this.#tail, indexes: this.#root.indexes });
  }

  async #writeSegment(range: Range, lines: AsyncIterable<RawLines>): Promise<void> {
    const { threadId, generation, log } = this.#tail;
    const text = segmentText({ threadId, generation, log, ...range }, lines);
    await replaceAt(segmentPath(this.#snapshot.place, range), text, this.#staging, this.#removals);
  }
}
