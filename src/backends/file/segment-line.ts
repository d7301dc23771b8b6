import { createHash } from "node:crypto";
import type { LogEntry, LogRecord } from "../../checkpoint/thread-log.ts";
import { damagedRecord, foreignRecord } from "./damage.ts";
import { bodyField, entryFields, entryFrom, parseObject, recordFrom } from "./record-fields.ts";
import type { RecordOwner } from "./record-file.ts";

/**
 * A record as one line of a segment:
 *
 *   {"seq":41,…,"header":{…},"entryChecksum":"…","body":{…},"checksum":"…"}
 *
 * The checksums are over the text and over whose record it is, so that a line
 * is proven without being taken apart, and a body that is shown as JSON is the
 * very bytes that were saved. Lines are copied to other segments as they are.
 */

/** Where a line is cut: its entry is the first `entryBytes` of it. */
export interface LineSize {
  readonly entryBytes: number;
  readonly bytes: number;
}

export interface Line extends LineSize {
  readonly seq: number;
  readonly checkpointId: string | undefined;
  readonly text: Buffer;
}

const CHECKSUM = 43;
const BEFORE_ENTRY_CHECKSUM = ',"entryChecksum":"';
const BEFORE_CHECKSUM = ',"checksum":"';
/** `,"entryChecksum":"…",` */
const BETWEEN = BEFORE_ENTRY_CHECKSUM.length + CHECKSUM + 2;
/** `,"checksum":"…"}` */
const END = BEFORE_CHECKSUM.length + CHECKSUM + 2;
const OPEN_BODY = '"body":';

export function renderLine(record: LogRecord, owner: RecordOwner): Line {
  const entry = Buffer.from(JSON.stringify(entryFields(record, { openly: true })).slice(0, -1), "utf8");
  const body = Buffer.from(JSON.stringify(bodyField(record.body, { openly: true })).slice(1, -1), "utf8");
  const entryChecksum = checksumOfEntry(owner, entry);
  const text = Buffer.concat([
    entry,
    Buffer.from(`${BEFORE_ENTRY_CHECKSUM}${entryChecksum}",`),
    body,
    Buffer.from(`${BEFORE_CHECKSUM}${checksumOfBody(entryChecksum, body)}"}`),
  ]);
  const { seq, checkpointId } = record;
  return { seq, checkpointId, entryBytes: entry.byteLength, bytes: text.byteLength, text };
}

/** The same line from values that were read as JSON: what an editor did to its white space is undone. */
export function restoredLine(value: Readonly<Record<string, unknown>>): Omit<Line, "checkpointId" | "seq"> {
  const { entryChecksum, body, bodyText, bodyBase64, checksum, ...entry } = value;
  const end = { entryChecksum, body, bodyText, bodyBase64, checksum };
  const beginning = JSON.stringify(entry).slice(0, -1);
  const text = Buffer.from(`${beginning},${JSON.stringify(end).slice(1)}`, "utf8");
  return { entryBytes: Buffer.byteLength(beginning, "utf8"), bytes: text.byteLength, text };
}

/** How many bytes of a line it takes to read its entry. */
export const bytesToReadEntry = ({ entryBytes }: LineSize): number => entryBytes + BETWEEN;

/** What is known of a line before it is read. */
export interface KnownLine extends LineSize {
  readonly seq: number;
  readonly owner: RecordOwner;
  readonly location: string;
}

/** The entry at the beginning of `text`, proven to be what was written. */
export function entryIn(text: Buffer, { seq, entryBytes, owner, location }: KnownLine): LogEntry {
  const written = text.subarray(0, entryBytes);
  const checksum = checksumOfEntry(owner, written);
  const found = text.toString("latin1", entryBytes, entryBytes + BETWEEN);
  if (found !== `${BEFORE_ENTRY_CHECKSUM}${checksum}",`) throw damagedRecord(location);
  const entry = entryFrom(parseObject(Buffer.concat([written, CLOSED]), location));
  if (entry.seq !== seq) throw foreignRecord(location, `a segment with record ${entry.seq} in place of ${seq}`);
  return entry;
}

const CLOSED = Buffer.from("}");

/** The record of a whole line, proven to be what was written. */
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
  return recordFrom(parseObject(Buffer.concat([OPENED, body, CLOSED]), line.location), entry);
}

const OPENED = Buffer.from("{");

const checksumOfEntry = ({ threadId, generation, log }: RecordOwner, entry: Buffer): string =>
  createHash("sha256")
    .update(JSON.stringify(["holdfast line 1", threadId, generation, log]))
    .update(entry)
    .digest("base64url");

const checksumOfBody = (entryChecksum: string, body: Buffer): string =>
  createHash("sha256").update(entryChecksum).update(body).digest("base64url");
