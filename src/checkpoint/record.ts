import { createHash } from "node:crypto";
import { StateError } from "../errors.ts";
import { assertKnownFormat, FORMAT_VERSION } from "../state/agent-state.ts";
import type { LogEntry, LogRecord } from "./thread-log.ts";

/**
 * What a record's header says. The header is small JSON that a driver keeps
 * without looking at it; listing a history reads headers and no bodies.
 */
export interface RecordHeader {
  readonly format: number;
  /** `base` and `delta` are checkpoints. `edit` carries a deletion, `lease` a change of the thread's lease. */
  readonly kind: "base" | "delta" | "edit" | "lease";
  /** Milliseconds since 1970, for people and retention. Never for order: that is `seq`. */
  readonly createdAt: number;
  /** The position whose state a delta changes; a gap in the chain shows here. 0 for a base. */
  readonly buildsOn: number;
  readonly parentId?: string;
  /** The version of the user's own schema. */
  readonly schema: number;
  readonly messageCount: number;
  readonly bodyBytes: number;
  /** What a load of this checkpoint reads, and how much of that the state still is. */
  readonly chain: ChainSize;
  /** On a base that had a predecessor: which of its messages are new. Absent means all; a delta's are its items. */
  readonly freshMessages?: readonly number[];
  /** What is true of the thread and not of one record: every record hands it on, so that the tail knows. */
  readonly thread?: ThreadFacts;
}

export interface ThreadFacts {
  /** The checkpoint of another thread that this thread was forked from. */
  readonly forkedFrom?: ForkPoint;
  readonly lease?: LeaseState;
}

export interface ForkPoint {
  readonly threadId: string;
  readonly checkpointId: string;
}

export interface ChainSize {
  readonly records: number;
  readonly bytes: number;
  readonly liveBytes: number;
  /** Of the base itself. */
  readonly baseBytes: number;
}

export interface LeaseState {
  readonly owner: string;
  /** Grows by one with every new holder: the fencing token. */
  readonly epoch: number;
  readonly expiresAt: number;
}

const EMPTY_CHAIN: ChainSize = { records: 0, bytes: 0, liveBytes: 0, baseBytes: 0 };

/** The body of records that carry none. Not empty: some storage systems cannot tell an empty value from a missing one. */
const NO_BODY: Uint8Array = Buffer.from("{}");

interface RecordParts extends Omit<LogRecord, "header"> {
  readonly fields: Omit<RecordHeader, "format" | "bodyBytes">;
}

/** A record whose header holds the checksum of everything else in it. */
export function sealRecord({ fields, ...parts }: RecordParts): LogRecord {
  const header: RecordHeader = { format: FORMAT_VERSION, ...fields, bodyBytes: parts.body.byteLength };
  const text = JSON.stringify(header);
  const checksum = checksumOf(parts, text, parts.body);
  return { ...parts, header: JSON.stringify({ ...header, checksum }) };
}

/** A record that is no checkpoint: it moves the tail and leaves the state alone. */
export function sealMark(
  kind: "edit" | "lease",
  parts: Pick<LogRecord, "seq" | "writeId" | "base" | "head">,
  createdAt: number,
  thread: ThreadFacts | undefined,
): LogRecord {
  const none = { checkpointId: undefined, metadata: undefined, body: NO_BODY, words: undefined };
  const fields = { kind, createdAt, buildsOn: 0, schema: 0, messageCount: 0, chain: EMPTY_CHAIN };
  return sealRecord({ ...parts, ...none, fields: { ...fields, ...(thread !== undefined && { thread }) } });
}

/** The header of an entry, once its format is known to be one of ours. Does not need the body, so cannot check the sum. */
export function openHeader(entry: LogEntry): RecordHeader {
  const { checksum: _, ...header } = parseHeader(entry);
  return header;
}

/** The header of a record whose bytes are proven to be the ones that were written. */
export function openRecord(record: LogRecord): RecordHeader {
  const { checksum, ...header } = parseHeader(record);
  const actual = checksumOf(record, JSON.stringify(header), record.body);
  if (checksum !== actual) {
    throw new StateError(
      "CORRUPT",
      `record ${record.seq} does not match its checksum: the stored bytes were damaged or changed by hand`,
      {
        location: `record ${record.seq}`,
        ...(record.checkpointId !== undefined && { checkpointId: record.checkpointId }),
      },
    );
  }
  return header;
}

function parseHeader(entry: LogEntry): RecordHeader & { readonly checksum: string } {
  let header: unknown;
  try {
    header = JSON.parse(entry.header);
  } catch (cause) {
    throw damagedHeader(entry, cause);
  }
  if (typeof header !== "object" || header === null || !("format" in header)) throw damagedHeader(entry);
  const { format } = header;
  if (typeof format !== "number") throw damagedHeader(entry);
  assertKnownFormat(format, `record ${entry.seq}`);
  return header as RecordHeader & { readonly checksum: string };
}

const damagedHeader = (entry: LogEntry, cause?: unknown): StateError =>
  new StateError("CORRUPT", `the header of record ${entry.seq} is damaged`, {
    location: `record ${entry.seq}`,
    cause,
  });

function checksumOf(entry: Omit<LogEntry, "header">, header: string, body: Uint8Array): string {
  const { seq, base, head, writeId, checkpointId = null, metadata = null } = entry;
  return createHash("sha256")
    .update(JSON.stringify([seq, base, head, writeId, checkpointId, metadata, header]))
    .update(body)
    .digest("base64url")
    .slice(0, 22);
}
