import { createHash } from "node:crypto";
import { StateError } from "../errors.ts";
import { assertKnownFormat, FORMAT_VERSION } from "../state/agent-state.ts";
import type { Standing } from "../state/standing.ts";
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
  /** The version of the user's own schema. */
  readonly schema: number;
  readonly messageCount: number;
  readonly bodyBytes: number;
  /** What a load of this checkpoint reads, and how much of that the state still is. */
  readonly chain: ChainSize;
  /** Which of the messages in the body are new to the thread, by their position in it. Absent means all. */
  readonly freshMessages?: readonly number[];
  /** What the state waits for, so that a listing can tell without reading it. Absent where it waits for nothing. */
  readonly standing?: Standing;
  /** Of the records of a graph's thread. */
  readonly graph?: GraphFacts;
  /** What is true of the thread and not of one record: every record hands it on, so that the tail knows. */
  readonly thread?: ThreadFacts;
}

/** What a saver needs to know of a record without reading it. Short names, because every record pays for them. */
export interface GraphFacts {
  /** The parent of the checkpoint that this record puts. */
  readonly parent?: string;
  /** The namespace and the id, where they are too long to be read off the record's name. */
  readonly ns?: string;
  readonly id?: string;
  /** The greatest checkpoint id that was ever named in the thread. Left out where it is this record's. */
  readonly greatest?: string;
  /** How many bytes since the base brought something new. */
  readonly fresh?: number;
}

export interface ThreadFacts {
  /** Left out for the threads of agents. */
  readonly kind?: "graph";
  /** The thread lives elsewhere now: nothing is saved here any more. */
  readonly moved?: MovedMark;
  /** The checkpoint of another thread that this thread was forked from. */
  readonly forkedFrom?: ForkPoint;
  /** How often records of the thread were replaced or taken out: whoever plans that sees whether another was faster. */
  readonly edits?: number;
  readonly lease?: LeaseState;
}

export interface MovedMark {
  /** Where to: the URL of the store, without its secrets. */
  readonly to: string;
  readonly at: number;
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
  /** Made at random for each holding: two holders of the same name are still two. */
  readonly id: string;
  readonly owner: string;
  /** Grows by one with every new holder: the fencing token. */
  readonly epoch: number;
  readonly expiresAt: number;
  /** Of the thread it was taken in: in a copy of that thread it holds nobody. */
  readonly generation?: string;
  /** For the lease of an agent's run: which process that is, so that others on its machine see when it is dead. */
  readonly holder?: string;
}

const EMPTY_CHAIN: ChainSize = { records: 0, bytes: 0, liveBytes: 0, baseBytes: 0 };

/** The body of records that carry none. Not empty: some storage systems cannot tell an empty value from a missing one. */
const NO_BODY: Uint8Array = Buffer.from("{}");

/** What the writer of a record says; the rest of its header follows from the record. */
export type RecordFields = Omit<RecordHeader, "format" | "bodyBytes">;

interface RecordParts extends Omit<LogRecord, "header"> {
  readonly fields: RecordFields;
}

/** A header as it is stored: short, because every record pays for it. What is usual is left out. */
interface StoredHeader {
  readonly format: number;
  readonly kind: RecordHeader["kind"];
  readonly createdAt: number;
  /** Left out where it is the position just before. */
  readonly buildsOn?: number;
  /** Left out where it is 0. */
  readonly schema?: number;
  readonly messages: number;
  readonly bytes: number;
  /** Records, bytes, live bytes, bytes of the base. */
  readonly chain?: readonly [number, number, number, number];
  readonly fresh?: readonly number[];
  readonly standing?: Standing;
  readonly graph?: GraphFacts;
  readonly thread?: ThreadFacts;
  /** The last field, so that what it covers is the text before it. */
  readonly sum?: string;
}

/** A record whose header holds the checksum of everything else in it. */
export function sealRecord({ fields, ...parts }: RecordParts): LogRecord {
  const { kind, createdAt, buildsOn, schema, chain, freshMessages, standing, graph, thread } = fields;
  const header: StoredHeader = {
    format: FORMAT_VERSION,
    kind,
    createdAt,
    ...(buildsOn !== usualStep(kind, parts.seq) && { buildsOn }),
    ...(schema !== 0 && { schema }),
    messages: fields.messageCount,
    bytes: parts.body.byteLength,
    ...(chain.records > 0 && { chain: [chain.records, chain.bytes, chain.liveBytes, chain.baseBytes] as const }),
    ...(freshMessages !== undefined && { fresh: freshMessages }),
    ...(standing !== undefined && { standing }),
    ...(graph !== undefined && { graph }),
    ...(thread !== undefined && { thread }),
  };
  const text = JSON.stringify(header);
  const sum = checksumOf(parts, text, parts.body);
  return { ...parts, header: `${text.slice(0, -1)}${SUM_BEGINS}${sum}${SUM_ENDS}` };
}

const SUM_BEGINS = ',"sum":"';
const SUM_ENDS = '"}';
const SUM_LENGTH = 16;

/** What a record of this kind at this position builds on unless it says otherwise. */
const usualStep = (kind: RecordHeader["kind"], seq: number): number => (kind === "delta" ? seq - 1 : 0);

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
export const openHeader = (entry: LogEntry): RecordHeader => unfold(entry, parseHeader(entry));

/** The header of a record whose bytes are proven to be the ones that were written. */
export function openRecord(record: LogRecord): RecordHeader {
  const header = openHeader(record);
  assertProven(record);
  return header;
}

/** Compares a record with its checksum, without parsing anything. Its format is known to be one of ours. */
export function assertProven(record: LogRecord): void {
  const { header, body, seq, checkpointId } = record;
  const covered = header.slice(0, -(SUM_BEGINS.length + SUM_LENGTH + SUM_ENDS.length));
  const sum = checksumOf(record, `${covered}}`, body);
  if (header.slice(covered.length) === `${SUM_BEGINS}${sum}${SUM_ENDS}`) return;
  throw new StateError(
    "CORRUPT",
    `record ${seq} does not match its checksum: the stored bytes were damaged or changed by hand`,
    { location: `record ${seq}`, ...(checkpointId !== undefined && { checkpointId }) },
  );
}

function unfold({ seq }: LogEntry, stored: StoredHeader): RecordHeader {
  const { format, kind, createdAt, buildsOn, schema, messages, bytes, chain, fresh, standing, graph, thread } = stored;
  const [records, chainBytes, liveBytes, baseBytes] = chain ?? [0, 0, 0, 0];
  return {
    format,
    kind,
    createdAt,
    buildsOn: buildsOn ?? usualStep(kind, seq),
    schema: schema ?? 0,
    messageCount: messages,
    bodyBytes: bytes,
    chain: { records, bytes: chainBytes, liveBytes, baseBytes },
    ...(fresh !== undefined && { freshMessages: fresh }),
    ...(standing !== undefined && { standing }),
    ...(graph !== undefined && { graph }),
    ...(thread !== undefined && { thread }),
  };
}

function parseHeader(entry: LogEntry): StoredHeader {
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
  return header as StoredHeader;
}

const damagedHeader = (entry: LogEntry, cause?: unknown): StateError =>
  new StateError("CORRUPT", `the header of record ${entry.seq} is damaged`, {
    location: `record ${entry.seq}`,
    cause,
  });

function checksumOf(entry: Omit<LogEntry, "header">, header: string, body: Uint8Array): string {
  const { seq, base, head, writeId, checkpointId = null, metadata = null, names } = entry;
  const fields = [seq, base, head, writeId, checkpointId, metadata, header];
  return createHash("sha256")
    .update(JSON.stringify(names === undefined ? fields : [...fields, names]))
    .update(body)
    .digest("base64url")
    .slice(0, SUM_LENGTH);
}
