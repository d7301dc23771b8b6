import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { checksumOfAll, checksumOfEntry } from "./checksum.ts";
import { damagedRecord } from "./damage.ts";
import { FILE_FORMAT } from "./layout.ts";
import {
  bodyField,
  type Document,
  entryFields,
  entryFrom,
  parseObject,
  recordFrom,
  type Style,
} from "./record-fields.ts";

/**
 * The text of a record file: indented JSON with the small parts first. Records that
 * were appended with it, and its edits, are in the same file. It has two checksums
 * over the values, not over the text: one after the small parts, so that a listing
 * need not read on, and one over everything.
 */

/** What an append does to the records before it. */
export interface RecordEdits {
  readonly replace: readonly LogRecord[];
  readonly drop: readonly number[];
  readonly dropBelow: number;
}

/** The owner of a file. A file that is found elsewhere was put there by mistake. */
export interface RecordOwner {
  readonly threadId: string;
  readonly generation: string;
  readonly log: string;
}

export interface StoredEntry extends RecordOwner {
  readonly entry: LogEntry;
  /** The last position in the file: that of the entry, or of the last record appended with it. */
  readonly upTo: number;
  /** The record marks the thread as removed. */
  readonly removed: boolean;
  /** The rest of the file holds edits. */
  readonly editing: boolean;
}

export interface StoredRecord extends RecordOwner {
  readonly record: LogRecord;
  /** The records that were appended with it. */
  readonly more: readonly LogRecord[];
  readonly removed: boolean;
  readonly edits: RecordEdits | undefined;
}

/** Everything that a file holds, in order of position. */
export const recordsOf = ({ record, more }: Pick<StoredRecord, "record" | "more">): readonly LogRecord[] => [
  record,
  ...more,
];

const END_OF_ENTRY = '\n  "entryChecksum": "';

/** The beginning of a file that holds the small parts of nearly every record. */
export const ENTRY_BYTES: number = 16 * 1024;

export function renderRecord(stored: StoredRecord): Uint8Array {
  const indented = JSON.stringify(documentOf(stored, { openly: true }), undefined, 2);
  // Indentation grows with the square of the depth, so a small but deeply nested value would become a large file.
  const isBloated = indented.length > 64 * 1024 + 8 * sizeOf(stored);
  const text = isBloated ? JSON.stringify(documentOf(stored, { openly: false }), undefined, 2) : indented;
  return Buffer.from(`${text}\n`, "utf8");
}

const sizeOf = ({ record, more, edits }: StoredRecord): number =>
  [record, ...more, ...(edits?.replace ?? [])].reduce((bytes, { body }) => bytes + body.byteLength, 0);

/** The records in a whole file, verified; `CORRUPT` naming `location` otherwise. */
export function parseRecord(bytes: Buffer, location: string): StoredRecord {
  const document = parseObject(bytes, location);
  const { threadId, generation, log, entry, upTo, removed, editing } = openEntry(document, location);
  const record = recordFrom(document, entry);
  const more = upTo > entry.seq ? recordsFrom(document["more"]) : [];
  const edits = editing ? editsFrom(document) : undefined;
  const proven = document["checksum"] === checksumOfAll(document["entryChecksum"], { record, more, edits });
  if (!proven) throw damagedRecord(location);
  return { threadId, generation, log, record, more, removed, edits };
}

/** The small parts, from the beginning of a file; `undefined` if more of the file is needed. */
export function parseEntry(bytes: Buffer, location: string): StoredEntry | undefined {
  const start = bytes.indexOf(END_OF_ENTRY);
  const end = start === -1 ? -1 : bytes.indexOf('"', start + END_OF_ENTRY.length);
  if (end === -1) return undefined;
  const beginning = Buffer.concat([bytes.subarray(0, end + 1), Buffer.from("}")]);
  return openEntry(parseObject(beginning, location), location);
}

function documentOf(stored: StoredRecord, style: Style): Document {
  const { threadId, generation, log, record, more, removed, edits } = stored;
  const upTo = record.seq + more.length;
  const entryChecksum = checksumOfEntry({ ...stored, entry: record, upTo, editing: edits !== undefined });
  const recordFields = (other: LogRecord): Document => ({
    ...entryFields(other, style),
    ...bodyField(other.body, style),
  });
  return {
    format: FILE_FORMAT,
    thread: threadId,
    generation,
    log,
    ...entryFields(record, style),
    ...(more.length > 0 && { upTo }),
    ...(removed && { removed }),
    ...(edits !== undefined && { editing: true }),
    entryChecksum,
    ...bodyField(record.body, style),
    ...(more.length > 0 && { more: more.map(recordFields) }),
    ...(edits !== undefined && {
      replace: edits.replace.map(recordFields),
      drop: edits.drop,
      dropBelow: edits.dropBelow,
    }),
    checksum: checksumOfAll(entryChecksum, stored),
  };
}

function openEntry(document: Document, location: string): StoredEntry {
  const { thread, generation, log, removed = false, editing = false, format } = document;
  const entry = entryFrom(document);
  const { upTo = entry.seq } = document;
  const stored = { threadId: thread, generation, log, entry, upTo, removed, editing } as StoredEntry;
  const proven = document["entryChecksum"] === checksumOfEntry(stored);
  // If everything else is verified to be of this format, another number is damage and not a newer version.
  if (!proven || format !== FILE_FORMAT) throw damagedRecord(location, { format: proven ? undefined : format });
  return stored;
}

function editsFrom({ replace, drop, dropBelow }: Document): RecordEdits {
  return { replace: recordsFrom(replace), drop, dropBelow } as RecordEdits;
}

function recordsFrom(documents: unknown): readonly LogRecord[] {
  const given = Array.isArray(documents) ? (documents as readonly Document[]) : [];
  return given.map((document) => recordFrom(document, entryFrom(document)));
}
