import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { damagedRecord, foreignRecord } from "./damage.ts";
import { type LogPlace, locationOf, type Range, segmentPath, threadDirectoryName } from "./layout.ts";
import { closeFile, openFile, readAt, readWholeFile, sizeOfFile } from "./read-file.ts";
import type { RecordOwner } from "./record-file.ts";
import {
  LAST_LINE_BYTES,
  type LastLine,
  parseHead,
  parseLastLine,
  parseRows,
  type RawLines,
  type Row,
  restoredText,
  SEPARATOR,
  type SegmentIndex,
} from "./segment-file.ts";
import type { SegmentIndexes } from "./segment-indexes.ts";
import { bytesToReadEntry, entryIn, type KnownLine, recordIn } from "./segment-line.ts";

/** How many bytes are read at a time; one record may be larger. */
const CHUNK_BYTES = 4 * 1024 * 1024;
/** Gaps between two entries up to this size are read rather than skipped. */
const JUMP_BYTES = 32 * 1024;

/** The bytes of a segment: an open file, or text that had to be restored. */
interface Source {
  readonly size: number;
  read(position: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

interface OpenOptions {
  readonly owner?: RecordOwner | undefined;
  readonly indexes: SegmentIndexes;
}

/** An open segment. Its name may be removed or reused meanwhile; this one does not change. */
export class Segment {
  readonly index: SegmentIndex;
  readonly #source: Source;
  readonly #location: string;

  private constructor(index: SegmentIndex, source: Source, location: string) {
    this.index = index;
    this.#source = source;
    this.#location = location;
  }

  /** The caller must close it. `owner` is what is already known of the thread. */
  static async open(place: LogPlace, range: Range, { owner, indexes }: OpenOptions): Promise<Segment> {
    const location = locationOf(place, range);
    const path = segmentPath(place, range);
    const file = await openFile(path);
    try {
      const size = await sizeOfFile(file);
      const read = (position: number, length: number): Promise<Buffer> => readAt(file, position, length);
      const source = { size, read, close: () => closeFile(file) };
      const segment =
        (await Segment.#from(source, location, path, indexes)) ?? (await Segment.#restored(source, path, location));
      segment.#assertBelongs(place, range, owner);
      return segment;
    } catch (error) {
      await closeFile(file);
      throw error;
    }
  }

  /** Opens it while `use` runs. */
  static async use<T>(
    place: LogPlace,
    range: Range,
    options: OpenOptions,
    use: (segment: Segment) => Promise<T>,
  ): Promise<T> {
    const segment = await Segment.open(place, range, options);
    try {
      return await use(segment);
    } finally {
      await segment.close();
    }
  }

  static async #from(
    source: Source,
    location: string,
    path: string,
    indexes: SegmentIndexes | undefined,
  ): Promise<Segment | undefined> {
    const start = Math.max(0, source.size - LAST_LINE_BYTES);
    const last = parseLastLine(await source.read(start, source.size - start), source.size);
    if (last === undefined) return undefined;
    const known = indexes?.get(path, last.checksum);
    if (known !== undefined) return new Segment(known, source, location);
    const index = await readIndex(source, last, location);
    if (index === undefined) return undefined;
    indexes?.set(path, index);
    return new Segment(index, source, location);
  }

  static async #restored({ close }: Source, path: string, location: string): Promise<Segment> {
    const text = restoredText(await readWholeFile(path), location);
    const read = async (position: number, length: number): Promise<Buffer> =>
      text.subarray(position, position + length);
    const segment = await Segment.#from({ size: text.byteLength, read, close }, location, path, undefined);
    if (segment === undefined) throw damagedRecord(location);
    return segment;
  }

  close(): Promise<void> {
    return this.#source.close();
  }

  /** Rows from one position to another, both included, ascending. */
  rows({ from, to }: Range): readonly Row[] {
    const { rows } = this.index;
    return rows.slice(firstFrom(rows, from), firstFrom(rows, to + 1));
  }

  row(seq: number): Row | undefined {
    const row = this.index.rows[firstFrom(this.index.rows, seq)];
    return row?.seq === seq ? row : undefined;
  }

  /** The entries of some rows, in their order. */
  async entries(rows: readonly Row[]): Promise<readonly LogEntry[]> {
    const spans = spansOf(rows, bytesToReadEntry, JUMP_BYTES);
    const found = await inParallel(spans, async (span) => {
      const bytes = await this.#source.read(span.start, span.end - span.start);
      return span.rows.map((row) => entryIn(bytes.subarray(row.offset - span.start), this.#known(row)));
    });
    return found.flat();
  }

  /** The records of some rows, in batches. */
  async *records(rows: readonly Row[]): AsyncGenerator<readonly LogRecord[], void, undefined> {
    for (const { rows: some, start, end } of spansOf(rows, wholeLine, JUMP_BYTES)) {
      const text = await this.#source.read(start, end - start);
      yield some.map((row) => recordIn(text.subarray(row.offset - start), this.#known(row)));
    }
  }

  /** The lines of some rows, unchanged and in batches, with their separators and nothing of other rows. */
  async *lines(rows: readonly Row[]): AsyncGenerator<RawLines, void, undefined> {
    for (const { rows: some, start, end } of spansOf(rows, wholeLine, SEPARATOR.length)) {
      const text = await this.#source.read(start, end - start);
      // One byte less would shift every line after it.
      if (text.byteLength !== end - start) throw damagedRecord(this.#location);
      yield { rows: some, text };
    }
  }

  #known({ seq, entryBytes, bytes }: Row): KnownLine {
    return { seq, entryBytes, bytes, location: this.#location };
  }

  /** An intact segment may have been copied or renamed to the wrong place. */
  #assertBelongs(place: LogPlace, range: Range, owner: RecordOwner | undefined): void {
    const { threadId, generation, log, from, to } = this.index.head;
    const isOfThread =
      owner === undefined ? threadDirectoryName(threadId) === place.threadDirectory : threadId === owner.threadId;
    if (!isOfThread) throw foreignRecord(this.#location, `a segment of thread ${JSON.stringify(threadId)}`);
    if (log !== place.log || (owner !== undefined && generation !== owner.generation)) {
      throw foreignRecord(this.#location, "a segment of an earlier thread of the same id");
    }
    if (from !== range.from || to !== range.to) throw foreignRecord(this.#location, `the segment of ${from} to ${to}`);
  }
}

async function readIndex(source: Source, last: LastLine, location: string): Promise<SegmentIndex | undefined> {
  const index = await source.read(last.indexAt, last.indexEnd - last.indexAt);
  const parsed = parseRows(index, last.indexAt);
  if (parsed === undefined) return undefined;
  const head = parseHead(await source.read(0, parsed.headBytes), index, last, location);
  return head && { head, rows: parsed.rows, checksum: last.checksum };
}

/** The index of the first row whose position is at least `seq`. */
function firstFrom(rows: readonly Row[], seq: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.seq ?? 0) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface Span {
  readonly rows: Row[];
  readonly start: number;
  end: number;
}

const wholeLine = ({ bytes }: Row): number => bytes;

/** What is read at once, up to a chunk. `wanted` is how much of each line, `most` the largest gap between two. */
function spansOf(rows: readonly Row[], wanted: (row: Row) => number, most: number): readonly Span[] {
  const spans: Span[] = [];
  for (const row of rows) {
    const end = row.offset + wanted(row);
    const last = spans.at(-1);
    const isNear = last !== undefined && row.offset - last.end <= most && end - last.start <= CHUNK_BYTES;
    if (last === undefined || !isNear) spans.push({ rows: [row], start: row.offset, end });
    else {
      last.rows.push(row);
      last.end = end;
    }
  }
  return spans;
}
