import { isUtf8 } from "node:buffer";
import type { LogEntry, LogRecord } from "../../checkpoint/thread-log.ts";
import { checksumOfAll, checksumOfEntry } from "./checksum.ts";
import { damagedRecord } from "./damage.ts";
import { FILE_FORMAT } from "./layout.ts";

/**
 * The text of one record's file: indented JSON with the small parts first.
 * Header, metadata and body are shown as the JSON they are wherever that gives
 * the same bytes back. Two checksums over the values, not over the text: one
 * after the small parts, so that listing need not read on, and one over all.
 */

/** What an append does to the records before it. */
export interface RecordEdits {
  readonly replace: readonly LogRecord[];
  readonly drop: readonly number[];
  readonly dropBelow: number;
}

/** To whom a file belongs. One that lies elsewhere was put there by mistake. */
export interface RecordOwner {
  readonly threadId: string;
  readonly generation: string;
  readonly log: string;
}

export interface StoredEntry extends RecordOwner {
  readonly entry: LogEntry;
  /** The record ends the thread: there is none any more. */
  readonly removed: boolean;
  /** The rest of the file holds edits. */
  readonly editing: boolean;
}

export interface StoredRecord extends RecordOwner {
  readonly record: LogRecord;
  readonly removed: boolean;
  readonly edits: RecordEdits | undefined;
}

const END_OF_ENTRY = '\n  "entryChecksum": "';

/** How much of a file holds the small parts of nearly every record. */
export const ENTRY_BYTES: number = 16 * 1024;

/** Larger bodies are for programs to read: they are kept as one line of text. */
const LARGEST_INDENTED_BODY = 1024 * 1024;

export function renderRecord(stored: StoredRecord): Uint8Array {
  const indented = JSON.stringify(documentOf(stored, { openly: true }), undefined, 2);
  // Indenting costs the square of the depth, so a small value that is nested deeply would become a large file.
  const isBloated = indented.length > 64 * 1024 + 8 * sizeOf(stored);
  const text = isBloated ? JSON.stringify(documentOf(stored, { openly: false }), undefined, 2) : indented;
  return Buffer.from(`${text}\n`, "utf8");
}

const sizeOf = ({ record, edits }: StoredRecord): number =>
  (edits?.replace ?? []).reduce((bytes, { body }) => bytes + body.byteLength, record.body.byteLength);

/** The record in a whole file, proven to be what was written; `CORRUPT` naming `location` otherwise. */
export function parseRecord(bytes: Buffer, location: string): StoredRecord {
  const document = parseObject(bytes, location);
  const { threadId, generation, log, entry, removed, editing } = openEntry(document, location);
  const record = recordFrom(document, entry);
  const edits = editing ? editsFrom(document) : undefined;
  if (document["checksum"] !== checksumOfAll(document["entryChecksum"], record, edits)) throw damagedRecord(location);
  return { threadId, generation, log, record, removed, edits };
}

/** The small parts, from the beginning of a file; `undefined` when it takes more of the file to tell. */
export function parseEntry(bytes: Buffer, location: string): StoredEntry | undefined {
  const start = bytes.indexOf(END_OF_ENTRY);
  const end = start === -1 ? -1 : bytes.indexOf('"', start + END_OF_ENTRY.length);
  if (end === -1) return undefined;
  const beginning = Buffer.concat([bytes.subarray(0, end + 1), Buffer.from("}")]);
  return openEntry(parseObject(beginning, location), location);
}

export const withoutBody = ({ body: _, words: _words, ...entry }: LogRecord): LogEntry => entry;

type Document = Readonly<Record<string, unknown>>;

/** Whether JSON inside a record is shown as such, or kept as a string. */
interface Style {
  readonly openly: boolean;
}

function documentOf(stored: StoredRecord, style: Style): Document {
  const { threadId, generation, log, record, removed, edits } = stored;
  const entryChecksum = checksumOfEntry({ ...stored, entry: record, editing: edits !== undefined });
  return {
    format: FILE_FORMAT,
    thread: threadId,
    generation,
    log,
    ...entryFields(record, style),
    ...(removed && { removed }),
    ...(edits !== undefined && { editing: true }),
    entryChecksum,
    ...bodyField(record.body, style),
    ...(edits !== undefined && {
      replace: edits.replace.map((other) => ({ ...entryFields(other, style), ...bodyField(other.body, style) })),
      drop: edits.drop,
      dropBelow: edits.dropBelow,
    }),
    checksum: checksumOfAll(entryChecksum, record, edits),
  };
}

function entryFields(record: LogRecord, style: Style): Document {
  const { seq, writeId, base, head, checkpointId, metadata, header } = record;
  return {
    seq,
    writeId,
    base,
    head,
    ...(checkpointId !== undefined && { checkpointId }),
    ...(metadata !== undefined && { metadata: shown(metadata, style) }),
    header: shown(header, style),
  };
}

/** Text that is a JSON object and would be written the same again is shown as that object; other text as a string. */
function shown(text: string, { openly }: Style): unknown {
  const value = openly ? parsedIfExact(text) : undefined;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : text;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function bodyField(body: Uint8Array, { openly }: Style): Document {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!isUtf8(bytes)) return { bodyBase64: bytes.toString("base64") };
  const text = bytes.toString("utf8");
  const value = openly && bytes.byteLength <= LARGEST_INDENTED_BODY ? parsedIfExact(text) : undefined;
  return value === undefined ? { bodyText: text } : { body: value };
}

/** The value of JSON text, if writing that value gives the text back to the letter. */
function parsedIfExact(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

function parseObject(bytes: Buffer, location: string): Document {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw damagedRecord(location, { cause });
  }
  if (typeof value !== "object" || value === null) throw damagedRecord(location);
  return value as Document;
}

function openEntry(document: Document, location: string): StoredEntry {
  const { thread, generation, log, removed = false, editing = false, format } = document;
  const stored = { threadId: thread, generation, log, entry: entryFrom(document), removed, editing } as StoredEntry;
  const proven = document["entryChecksum"] === checksumOfEntry(stored);
  // Where everything else is proven to be of this format, another number is damage and not a newer version.
  if (!proven || format !== FILE_FORMAT) throw damagedRecord(location, { format: proven ? undefined : format });
  return stored;
}

/** Types are not looked at one by one: the checksum that follows proves that these are the values that were written. */
function entryFrom({ seq, writeId, base, head, checkpointId, metadata, header }: Document): LogEntry {
  const text = metadata === undefined ? undefined : textOf(metadata);
  return { seq, writeId, base, head, checkpointId, metadata: text, header: textOf(header) } as LogEntry;
}

function recordFrom(document: Document, entry: LogEntry): LogRecord {
  const { body, bodyText, bodyBase64 } = document;
  if (bodyBase64 !== undefined) return withBody(entry, Buffer.from(String(bodyBase64), "base64"));
  return withBody(entry, Buffer.from(body === undefined ? String(bodyText) : JSON.stringify(body), "utf8"));
}

const withBody = (entry: LogEntry, body: Uint8Array): LogRecord => ({ ...entry, body, words: undefined });

function editsFrom({ replace, drop, dropBelow }: Document): RecordEdits {
  const documents = Array.isArray(replace) ? (replace as readonly Document[]) : [];
  const records = documents.map((document) => recordFrom(document, entryFrom(document)));
  return { replace: records, drop, dropBelow } as RecordEdits;
}
