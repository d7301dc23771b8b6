import type { LogEntry, LogRecord } from "../../checkpoint/thread-log.ts";
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
 * The text of one record's file: indented JSON with the small parts first.
 * Two checksums over the values, not over the text: one after the small parts,
 * so that listing need not read on, and one over all.
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

function openEntry(document: Document, location: string): StoredEntry {
  const { thread, generation, log, removed = false, editing = false, format } = document;
  const stored = { threadId: thread, generation, log, entry: entryFrom(document), removed, editing } as StoredEntry;
  const proven = document["entryChecksum"] === checksumOfEntry(stored);
  // Where everything else is proven to be of this format, another number is damage and not a newer version.
  if (!proven || format !== FILE_FORMAT) throw damagedRecord(location, { format: proven ? undefined : format });
  return stored;
}

function editsFrom({ replace, drop, dropBelow }: Document): RecordEdits {
  const documents = Array.isArray(replace) ? (replace as readonly Document[]) : [];
  const records = documents.map((document) => recordFrom(document, entryFrom(document)));
  return { replace: records, drop, dropBelow } as RecordEdits;
}
