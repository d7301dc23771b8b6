import { createHash } from "node:crypto";
import { damagedRecord } from "./damage.ts";
import { FILE_FORMAT, type Range } from "./layout.ts";
import { type Document, parseObject } from "./record-fields.ts";
import type { RecordOwner } from "./record-file.ts";
import { type Line, type LineSize, restoredLine } from "./segment-line.ts";

/**
 * The text of a segment, one JSON document with a line for each record:
 *
 *   {"format":1,"thread":"…","generation":"…","log":"…","from":1,"to":64,"records":[
 *   {"seq":1,…},
 *   {"seq":2,…}
 *   ],"index":[
 *   [1,289,1024,"…"],
 *   [2,288,977,"…",["…","…"]]
 *   ],"checksum":"…","indexAt":2133}
 *
 * The index says of each record where its line is cut, and under which names
 * it is found: so that one is found, and many are listed, without reading the rest. The
 * checksum is over the first line and the index; each record has its own.
 */

/** A record's place in a segment. */
export interface Row extends LineSize {
  readonly seq: number;
  readonly checkpointId: string | undefined;
  readonly names?: readonly string[];
  /** The offset of its line. */
  readonly offset: number;
}

export type RowWithoutPlace = Omit<Row, "offset">;

export interface SegmentHead extends RecordOwner, Range {}

/** The first line and the rows, verified. */
export interface SegmentIndex {
  readonly head: SegmentHead;
  /** Ascending. */
  readonly rows: readonly Row[];
  /** The checksum of the index: a segment that was rewritten under the same name has another one. */
  readonly checksum: string;
}

/** Between two lines. */
export const SEPARATOR = ",\n";
const BEFORE_INDEX = '],"index":';
const LAST_LINE = /\],"checksum":"([\w-]{43})","indexAt":(\d{1,16})\}\n$/;
/** Longer than any last line. */
export const LAST_LINE_BYTES = 128;

const renderHead = ({ threadId, generation, log, from, to }: SegmentHead): string => {
  const head = { format: FILE_FORMAT, thread: threadId, generation, log, from, to };
  return `${JSON.stringify(head).slice(0, -1)},"records":[\n`;
};

/** Adjacent lines, with their separators. */
export interface RawLines {
  readonly rows: readonly RowWithoutPlace[];
  readonly text: Buffer;
}

/** Lines that are not in a segment yet. */
export const rawLines = (lines: readonly Line[]): RawLines => ({
  rows: lines,
  text: Buffer.concat(lines.flatMap(({ text }, index) => (index === 0 ? [text] : [Buffer.from(SEPARATOR), text]))),
});

/** A whole segment, piece by piece. The same lines always make the same bytes. */
export async function* segmentText(
  head: SegmentHead,
  parts: AsyncIterable<RawLines>,
): AsyncGenerator<Buffer, void, undefined> {
  const start = renderHead(head);
  const rows: RowWithoutPlace[] = [];
  let end = Buffer.byteLength(start, "utf8");
  yield Buffer.from(start, "utf8");
  for await (const { rows: some, text } of parts) {
    if (some.length === 0) continue;
    const separator = rows.length === 0 ? "" : SEPARATOR;
    if (separator !== "") yield Buffer.from(separator);
    yield text;
    end += separator.length + text.byteLength;
    rows.push(...some.map(({ seq, entryBytes, bytes, ...line }) => ({ seq, entryBytes, bytes, ...namesIn(line) })));
  }
  yield Buffer.from(renderEnd(start, rows, end), "utf8");
}

/** What follows the lines, which ended at `end`. */
function renderEnd(head: string, rows: readonly RowWithoutPlace[], end: number): string {
  const before = `${rows.length > 0 ? "\n" : ""}${BEFORE_INDEX}`;
  const index = indexText(rows);
  return `${before}${index}],"checksum":"${checksumOf(head, index)}","indexAt":${end + before.length}}\n`;
}

function indexText(rows: readonly RowWithoutPlace[]): string {
  const lines = rows.map(({ seq, entryBytes, bytes, checkpointId, names }) => {
    const further = names === undefined ? [checkpointId] : [checkpointId ?? null, names];
    return JSON.stringify([seq, entryBytes, bytes, ...further.filter((part) => part !== undefined)]);
  });
  return `[\n${lines.join(SEPARATOR)}\n`;
}

type Named = Pick<Row, "checkpointId" | "names">;

const namesIn = ({ checkpointId, names }: Named): Named =>
  names === undefined ? { checkpointId } : { checkpointId, names };

const checksumOf = (head: string, index: string | Buffer): string =>
  createHash("sha256").update(head).update(index).digest("base64url");

export interface LastLine {
  readonly checksum: string;
  /** The offsets where the index begins and ends. */
  readonly indexAt: number;
  readonly indexEnd: number;
}

/** The place of the index, read from the end of a file of `size` bytes; `undefined` if the last line is malformed. */
export function parseLastLine(end: Buffer, size: number): LastLine | undefined {
  const text = end.toString("latin1");
  const [line, checksum, indexAt] = LAST_LINE.exec(text) ?? [];
  if (line === undefined || checksum === undefined) return undefined;
  const place = { checksum, indexAt: Number(indexAt), indexEnd: size - line.length };
  return place.indexAt < place.indexEnd ? place : undefined;
}

type IndexLine = readonly [number, number, number, (string | null)?, (readonly string[])?];

/** The rows of the index, and the length that the first line must have; `undefined` if it is not an index. */
export function parseRows(
  text: Buffer,
  indexAt: number,
): { readonly rows: readonly Row[]; readonly headBytes: number } | undefined {
  try {
    const values = JSON.parse(`${text.toString("utf8")}]`) as readonly IndexLine[];
    const all = values.reduce((sum, [, , bytes]) => sum + bytes + SEPARATOR.length, 0);
    const headBytes = indexAt - BEFORE_INDEX.length - all + (values.length > 0 ? 1 : 0);
    if (!(headBytes > 0 && headBytes < indexAt)) return undefined;
    let offset = headBytes;
    const rows = values.map(([seq, entryBytes, bytes, checkpointId, names]) => {
      const named = { checkpointId: checkpointId ?? undefined, ...(names !== undefined && { names }) };
      const row = { seq, entryBytes, bytes, ...named, offset };
      offset += bytes + SEPARATOR.length;
      return row;
    });
    return { rows, headBytes };
  } catch {
    // Not verified yet: there may be any value in place of a number.
    return undefined;
  }
}

/** `undefined` if the first line and the index do not match. */
export function parseHead(
  head: Buffer,
  index: Buffer,
  { checksum }: LastLine,
  location: string,
): SegmentHead | undefined {
  const text = head.toString("utf8");
  if (checksumOf(text, index) !== checksum) return undefined;
  const document = parseObject(Buffer.from(`${text}]}`), location);
  if (document["format"] !== FILE_FORMAT) throw damagedRecord(location, { format: document["format"] });
  return headFrom(document);
}

const headFrom = ({ thread, generation, log, from, to }: Document): SegmentHead =>
  ({ threadId: thread, generation, log, from, to }) as SegmentHead;

/** The original text of a file whose white space was changed by an editor or git. `CORRUPT` if anything else changed. */
export function restoredText(bytes: Buffer, location: string): Buffer {
  const document = parseObject(bytes, location);
  const { records, format } = document;
  if (!Array.isArray(records) || !records.every(isDocument)) throw damagedRecord(location, { format });
  const start = renderHead(headFrom(document));
  const lines = records.map((value) => ({ ...restoredLine(value), ...named(value) }));
  const body = Buffer.concat([Buffer.from(start, "utf8"), rawLines(lines).text]);
  const end = renderEnd(start, lines, body.byteLength);
  const isProven = document["checksum"] === LAST_LINE.exec(end)?.[1];
  // If everything else is verified to be of this format, another number is damage and not a newer version.
  if (!isProven || format !== FILE_FORMAT) throw damagedRecord(location, { format: isProven ? undefined : format });
  return Buffer.concat([body, Buffer.from(end, "utf8")]);
}

const isDocument = (value: unknown): value is Document => typeof value === "object" && value !== null;

const named = ({ seq, checkpointId, names }: Document): Pick<Row, "seq"> & Named =>
  ({ seq, ...namesIn({ checkpointId, names } as Named) }) as Pick<Row, "seq"> & Named;
