import { isUtf8 } from "node:buffer";
import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { damagedRecord } from "./damage.ts";

/**
 * The parts of a record as JSON, the same in a record file and in a line of a
 * segment. Header, metadata and body are embedded as JSON wherever that preserves
 * their bytes.
 */

export type Document = Readonly<Record<string, unknown>>;

/** Whether JSON inside a record is embedded as such, or kept as a string. */
export interface Style {
  readonly openly: boolean;
}

/** Larger bodies are not meant for people: they are kept as one line of text. */
const LARGEST_OPEN_BODY = 1024 * 1024;

export function entryFields(record: LogRecord, style: Style): Document {
  const { seq, writeId, base, head, checkpointId, names, metadata, header } = record;
  return {
    seq,
    writeId,
    base,
    head,
    ...(checkpointId !== undefined && { checkpointId }),
    ...(names !== undefined && { names }),
    header: shown(header, style),
    ...(metadata !== undefined && { metadata: shown(metadata, style) }),
  };
}

/** Text that is a JSON object, and serializes to the same text, is embedded as that object; other text as a string. */
function shown(text: string, { openly }: Style): unknown {
  const value = openly ? parsedIfExact(text) : undefined;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : text;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

export function bodyField(body: Uint8Array, { openly }: Style): Document {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!isUtf8(bytes)) return { bodyBase64: bytes.toString("base64") };
  const text = bytes.toString("utf8");
  const value = openly && bytes.byteLength <= LARGEST_OPEN_BODY ? parsedIfExact(text) : undefined;
  return value === undefined ? { bodyText: text } : { body: value };
}

/** The value of JSON text, if it serializes to exactly the same text. */
function parsedIfExact(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

export function parseObject(bytes: Buffer, location: string): Document {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw damagedRecord(location, { cause });
  }
  if (typeof value !== "object" || value === null) throw damagedRecord(location);
  return value as Document;
}

/** Types are not checked one by one: the checksum that follows proves that these are the values that were written. */
export function entryFrom({ seq, writeId, base, head, checkpointId, names, metadata, header }: Document): LogEntry {
  const text = metadata === undefined ? undefined : textOf(metadata);
  const further = names !== undefined && { names };
  return { seq, writeId, base, head, checkpointId, ...further, metadata: text, header: textOf(header) } as LogEntry;
}

export function recordFrom(document: Document, entry: LogEntry): LogRecord {
  const { body, bodyText, bodyBase64 } = document;
  if (bodyBase64 !== undefined) return withBody(entry, Buffer.from(String(bodyBase64), "base64"));
  return withBody(entry, Buffer.from(body === undefined ? String(bodyText) : JSON.stringify(body), "utf8"));
}

const withBody = (entry: LogEntry, body: Uint8Array): LogRecord => ({ ...entry, body, words: undefined });

export const withoutBody = ({ body: _, words: _words, ...entry }: LogRecord): LogEntry => entry;
