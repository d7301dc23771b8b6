import { createHash, hash } from "node:crypto";
import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { damagedRecord, foreignRecord } from "./damage.ts";
import { bodyField, type Document, entryFields, entryFrom, recordFrom } from "./record-fields.ts";

/**
 * A record as one line of a segment:
 *
 *   {"seq":41,…,"header":{…},"entryChecksum":"…","body":{…},"checksum":"…"}
 *
 * The checksums are over the text, so that a line is proven without being taken
 * apart, and a body that is shown as JSON is the very bytes that were saved.
 * Lines are copied to other segments as they are.
 */

/** Where a line is split: its entry is the first `entryBytes`. */
export interface LineSize {
  readonly entryBytes: number;
  readonly bytes: number;
}

export interface Line extends LineSize {
  readonly seq: number;
  readonly checkpointId: string | undefined;
  readonly names?: readonly string[];
  readonly text: Buffer;
}

/** In hexadecimal digits: half of SHA-256, which is more than enough against accidents. */
const CHECKSUM = 32;
const BEFORE_ENTRY_CHECKSUM = ',"entryChecksum":"';
const BEFORE_CHECKSUM = ',"checksum":"';
/** `,"entryChecksum":"…",` */
const BETWEEN = BEFORE_ENTRY_CHECKSUM.length + CHECKSUM + 2;
/** `,"checksum":"…"}` */
const END = BEFORE_CHECKSUM.length + CHECKSUM + 2;
const OPEN_BODY = '"body":';

export function renderLine(record: LogRecord): Line {
  const entry = Buffer.from(JSON.stringify(entryFields(record, { openly: true })).slice(0, -1), "utf8");
  const body = Buffer.from(JSON.stringify(bodyField(record.body, { openly: true })).slice(1, -1), "utf8");
  const entryChecksum = checksumOf(entry);
  const text = Buffer.concat([
    entry,
    Buffer.from(`${BEFORE_ENTRY_CHECKSUM}${entryChecksum}",`),
    body,
    Buffer.from(`${BEFORE_CHECKSUM}${checksumOfBody(entryChecksum, body)}"}`),
  ]);
  const { seq, checkpointId, names } = record;
  const named = { checkpointId, ...(names !== undefined && { names }) };
  return { seq, ...named, entryBytes: entry.byteLength, bytes: text.byteLength, text };
}

/** The same line from parsed JSON values: undoes white space changes of an editor. */
export function restoredLine(value: Readonly<Record<string, unknown>>): Omit<Line, "checkpointId" | "names" | "seq"> {
  const { entryChecksum, body, bodyText, bodyBase64, checksum, ...entry } = value;
  const end = { entryChecksum, body, bodyText, bodyBase64, checksum };
  const beginning = JSON.stringify(entry).slice(0, -1);
  const text = Buffer.from(`${beginning},${JSON.stringify(end).slice(1)}`, "utf8");
  return { entryBytes: Buffer.byteLength(beginning, "utf8"), bytes: text.byteLength, text };
}

/** How many bytes of a line are needed to read its entry. */
export const bytesToReadEntry = ({ entryBytes }: LineSize): number => entryBytes + BETWEEN;

/** What the list of a segment says about a line before it is read. */
export interface KnownLine extends LineSize {
  readonly seq: number;
  readonly location: string;
}

/** The entry at the beginning of `text`, verified. */
export function entryIn(text: Buffer, { seq, entryBytes, location }: KnownLine): LogEntry {
  const checksum = checksumOf(text.subarray(0, entryBytes));
  const found = text.toString("latin1", entryBytes, entryBytes + BETWEEN);
  if (found !== `${BEFORE_ENTRY_CHECKSUM}${checksum}",`) throw damagedRecord(location);
  const entry = parseEntryText(text.toString("utf8", 0, entryBytes));
  if (entry.seq !== seq) throw foreignRecord(location, `a segment with record ${entry.seq} in place of ${seq}`);
  return entry;
}

/**
 * A header that comes last and is embedded as JSON is cut out without parsing:
 * histories are long, and it is most of an entry.
 */
function parseEntryText(text: string): LogEntry {
  // Only numbers, strings and a list of strings come before it, and strings contain no unescaped quotation mark.
  const at = text.indexOf(BEFORE_OPEN_HEADER);
  if (at === -1 || text.includes(BEFORE_METADATA, at)) return entryFrom(JSON.parse(`${text}}`) as Document);
  const header = text.slice(at + BEFORE_OPEN_HEADER.length - 1);
  const { seq, writeId, base, head, checkpointId, names } = JSON.parse(`${text.slice(0, at)}}`) as LogEntry;
  const further = names !== undefined && { names };
  return { seq, writeId, base, head, checkpointId, ...further, metadata: undefined, header };
}

const BEFORE_OPEN_HEADER = ',"header":{';
const BEFORE_METADATA = ',"metadata":';

/** The record of a whole line, verified. */
export function recordIn(text: Buffer, line: KnownLine): LogRecord {
  const entry = entryIn(text, line);
  const start = line.entryBytes + BETWEEN;
  const end = line.bytes - END;
  const body = text.subarray(start, end);
  const entryChecksum = text.toString("latin1", start - CHECKSUM - 2, start - 2);
  const found = text.toString("latin1", end, line.bytes);
  if (found !== `${BEFORE_CHECKSUM}${checksumOfBody(entryChecksum, body)}"}`) throw damagedRecord(line.location);
  const isOpen = body.toString("latin1", 0, OPEN_BODY.length) === OPEN_BODY;
  if (isOpen) return { ...entry, body: body.subarray(OPEN_BODY.length), words: undefined };
  return recordFrom(JSON.parse(`{${body.toString("utf8")}}`) as Document, entry);
}

const checksumOf = (bytes: Buffer): string => hash("sha256", bytes, "hex").slice(0, CHECKSUM);

const checksumOfBody = (entryChecksum: string, body: Buffer): string =>
  createHash("sha256").update(entryChecksum).update(body).digest("hex").slice(0, CHECKSUM);
