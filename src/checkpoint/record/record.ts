import { whyUnopened } from "../../driver/unopened.ts";
import { StateError } from "../../errors.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import { assertKnownFormat, FORMAT_VERSION } from "../../state/agent-state.ts";
import type { StateFields } from "../../state/fields.ts";
import type { Standing } from "../../state/tool-calls.ts";
import { encodeOwned } from "../../state/values/codec.ts";
import type { LogEntry, LogRecord } from "../log/thread-log.ts";
import { parseTexts } from "./chain.ts";
import { withStanding } from "./metadata.ts";

/**
 * A record's header: small JSON that a driver stores without looking at it.
 * Listing a history reads headers and no bodies.
 */
export interface RecordHeader {
  readonly format: number;
  /**
   * `base` and `delta` are checkpoints. `edit` carries a deletion, `lease` a change of the thread's lease, `signal`
   * what was sent to the thread and is not yet in a checkpoint.
   */
  readonly kind: "base" | "delta" | "edit" | "lease" | "signal";
  /** Milliseconds since 1970, for people and retention. Never for order: that is `seq`. */
  readonly createdAt: number;
  /** The position whose state a delta changes; it reveals a gap in the chain. 0 for a base. */
  readonly buildsOn: number;
  /** The version of the user's own schema. */
  readonly schema: number;
  readonly messageCount: number;
  readonly bodyBytes: number;
  /** What loading this checkpoint reads, and how much of that is still part of the state. */
  readonly chain: ChainSize;
  /** Which messages in the body are new to the thread, by position. Absent means all. */
  readonly freshMessages?: readonly number[] | undefined;
  /** What the state waits for, so that a listing need not read it. Absent if it waits for nothing. */
  readonly standing?: Standing | undefined;
  /** Of the whole state, where the caller named the write: the name alone does not say that it is the same write. */
  readonly digest?: string | undefined;
  /** Only in records of a graph's thread. */
  readonly graph?: GraphFacts | undefined;
  /** Only of a signal. */
  readonly signal?: SignalFacts | undefined;
  /** Facts about the thread rather than one record. Every record repeats them, so that the tail knows. */
  readonly thread?: ThreadFacts | undefined;
}

/** What a saver must know of a record without reading it. Short names, because every record pays for them. */
export interface GraphFacts {
  /** The parent of the checkpoint in this record. */
  readonly parent?: string;
  /** The namespace and the id, if they are too long to be part of the record's name. */
  readonly ns?: string;
  readonly id?: string;
  /** The greatest checkpoint id ever used in the thread. Omitted if it is this record's. */
  readonly greatest?: string;
  /** How many bytes since the base are new content. */
  readonly fresh?: number;
}

/** What a signal is, beside what it says. */
export interface SignalFacts {
  readonly id: string;
  readonly kind: "message" | "answers" | "cancel";
}

export interface ThreadFacts {
  /** Omitted for the threads of agents. */
  readonly kind?: "graph";
  /** The thread has moved to another store: nothing is saved here any more. */
  readonly moved?: MovedMark;
  /** The checkpoint of another thread that this thread was forked from. */
  readonly forkedFrom?: ForkPoint;
  /** How often records of the thread were replaced or removed. A planned edit sees by it whether another was faster. */
  readonly edits?: number;
  /** How often personal data was erased from the thread. A state loaded before still contains it and is not saved. */
  readonly erasures?: number;
  /** Erasures that others' writes wait for, each by its id with the time, on the storage's clock, at which that ends. */
  readonly erasing?: Readonly<Record<string, number>>;
  /** How often a legal hold was placed on the thread while it existed. A planned removal sees by it that it has to ask again. */
  readonly holds?: number;
  readonly lease?: LeaseState;
  readonly mail?: MailFacts;
}

/** Which signals wait in a thread, and which it took in lately. */
export interface MailFacts {
  /** The generation of the thread that they were sent to: a copy of that thread takes none of them along. */
  readonly generation: string;
  /** Oldest first. Their records are the newest of the thread, but for marks. */
  readonly waiting?: readonly WaitingSignal[];
  /** Oldest first. The same id again is no new signal. */
  readonly taken?: readonly TakenSignal[];
}

/** A hash of the id stands for it: ids may be long, and every record repeats these. */
export type WaitingSignal = readonly [seq: number, bytes: number, idHash: string, sentAt: number];
export type TakenSignal = readonly [idHash: string, takenAt: number];

export interface MovedMark {
  /** The URL of the new store, without its secrets. */
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
  /** The bytes of the base itself. */
  readonly baseBytes: number;
}

export interface LeaseState {
  /** Random for each holding, and its token: two holders with the same name are still told apart. */
  readonly id: string;
  readonly owner: string;
  readonly expiresAt: number;
  /** The generation of the thread it was taken in; in a copy of that thread it binds no writer. */
  readonly generation?: string;
  /** For the lease of an agent's run: its process, so that others on the same machine see when it is dead. */
  readonly holder?: string;
}

const EMPTY_CHAIN: ChainSize = { records: 0, bytes: 0, liveBytes: 0, baseBytes: 0 };

/**
 * The body of records without content. Not empty: some storage systems cannot tell
 * an empty value from a missing one.
 */
const NO_BODY: Uint8Array = Buffer.from("{}");

/** What the writer of a record supplies; the rest of its header follows from the record. */
export type RecordFields = Omit<RecordHeader, "format" | "bodyBytes">;

interface RecordParts extends Omit<LogRecord, "header"> {
  readonly fields: RecordFields;
}

/** A header as it is stored: short, because every record pays for it. Defaults are left out. */
export interface StoredHeader {
  readonly format: number;
  readonly kind: RecordHeader["kind"];
  readonly createdAt: number;
  /** Omitted if it is the position just before. */
  readonly buildsOn?: number;
  /** Omitted if it is 0. */
  readonly schema?: number;
  readonly messages: number;
  readonly bytes: number;
  /** Records, bytes, live bytes, bytes of the base. */
  readonly chain?: readonly [number, number, number, number];
  readonly fresh?: readonly number[];
  readonly standing?: Standing;
  readonly digest?: string;
  readonly graph?: GraphFacts;
  readonly signal?: SignalFacts;
  readonly thread?: ThreadFacts;
  /** The last field, because it covers the text before it. */
  readonly sum?: string;
}

/** 96 bits in base64url: against damage and mistakes, not against an attacker, who can compute it too. */
export const SUM_LENGTH = 16;
const SUM_BEGINS = ',"sum":"';
const SUM_ENDS = '"}';
const CHECKSUM_MEMBER_LENGTH = SUM_BEGINS.length + SUM_LENGTH + SUM_ENDS.length;

/** Text and body are put together here, because one call for a hash costs far less than an object that collects. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);
/** No character of UTF-16 becomes more bytes than this. */
const BYTES_PER_UNIT = 3;

/**
 * The checksum of a record: of its body and of everything in its entry. Numbers and lengths, then the texts themselves,
 * of which the header is the last: no two entries have the same. It covers `header` up to `end`. What follows there is
 * the checksum itself, in ASCII: it is written, too, and overwritten by the body, because cutting it off would cost a
 * text.
 */
export function checksumOf(entry: Omit<LogEntry, "header">, header: string, end: number, body: Uint8Array): string {
  const { seq, base, head, writeId, checkpointId, metadata, names } = entry;
  const others = names === undefined ? "" : JSON.stringify(names);
  // An empty text is not the same as a missing one.
  const lengths = `${writeId.length} ${checkpointId?.length ?? "-"} ${metadata?.length ?? "-"} ${others.length} ${end}`;
  const before = `${seq} ${base} ${head} ${lengths} ${writeId}${checkpointId ?? ""}${metadata ?? ""}${others}`;
  if ((before.length + header.length) * BYTES_PER_UNIT + body.length > scratch.length) {
    const hash = nodeCrypto().createHash("sha256").update(before).update(header.slice(0, end)).update(body);
    return hash.digest("base64url").slice(0, SUM_LENGTH);
  }
  // Not joined with the header: that would be a text of its size for each record of a load.
  const begin = scratch.write(before);
  const length = begin + scratch.write(header, begin) - (header.length - end);
  scratch.set(body, length);
  return nodeCrypto()
    .hash("sha256", scratch.subarray(0, length + body.length), "base64url")
    .slice(0, SUM_LENGTH);
}

/** A record whose header contains the checksum of everything else in it. */
export function withChecksum(parts: RecordParts): LogRecord {
  const { seq, writeId, base, head, checkpointId, names, body, words, fields } = parts;
  const text = beginOfHeader(fields, parts);
  const metadata = checkpointId === undefined ? parts.metadata : withStanding(parts.metadata, fields.standing);
  const header = `${text}${SUM_BEGINS}${checksumOf({ ...parts, metadata }, text, text.length, body)}${SUM_ENDS}`;
  const record = { seq, writeId, base, head, checkpointId, metadata, header, body, words };
  return names === undefined ? record : { ...record, names };
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * The JSON of a `StoredHeader`, without its end. The texts are joined here, because
 * every save makes one and `JSON.stringify` takes twice as long.
 */
function beginOfHeader(fields: RecordFields, { seq, body }: Pick<LogRecord, "seq" | "body">): string {
  const {
    kind,
    createdAt,
    buildsOn,
    schema,
    messageCount,
    chain,
    freshMessages,
    standing,
    digest,
    graph,
    signal,
    thread,
  } = fields;
  let text = `{"format":${FORMAT_VERSION},"kind":"${kind}","createdAt":${numberText(createdAt)}`;
  if (buildsOn !== usualStep(kind, seq)) text += `,"buildsOn":${buildsOn}`;
  if (schema !== 0) text += `,"schema":${numberText(schema)}`;
  text += `,"messages":${messageCount},"bytes":${body.byteLength}`;
  if (chain.records > 0) {
    text += `,"chain":[${chain.records},${chain.bytes},${chain.liveBytes},${chain.baseBytes}]`;
  }
  if (freshMessages !== undefined) text += `,"fresh":${JSON.stringify(freshMessages)}`;
  if (standing !== undefined) text += `,"standing":${JSON.stringify(standing)}`;
  if (digest !== undefined) text += `,"digest":"${digest}"`;
  if (graph !== undefined) text += `,"graph":${JSON.stringify(graph)}`;
  if (signal !== undefined) text += `,"signal":${JSON.stringify(signal)}`;
  if (thread !== undefined) text += `,"thread":${JSON.stringify(thread)}`;
  return text;
}

/** As JSON has it: a caller's clock or schema may return anything. */
const numberText = (value: number): string =>
  Number.isFinite(value) ? String(value) : (JSON.stringify(value) ?? "null");

/** What a record of this kind at this position builds on unless it says otherwise. */
const usualStep = (kind: RecordHeader["kind"], seq: number): number => (kind === "delta" ? seq - 1 : 0);

/** A record that is not a checkpoint: it moves the tail and leaves the state alone. */
export function markRecord(
  kind: "edit" | "lease",
  parts: Pick<LogRecord, "seq" | "writeId" | "base" | "head">,
  createdAt: number,
  thread: ThreadFacts | undefined,
): LogRecord {
  const none = { checkpointId: undefined, metadata: undefined, body: NO_BODY, words: undefined };
  const fields = { kind, createdAt, buildsOn: 0, schema: 0, messageCount: 0, chain: EMPTY_CHAIN };
  return withChecksum({ ...parts, ...none, fields: { ...fields, ...(thread !== undefined && { thread }) } });
}

/** What was sent to a thread: it moves the tail like a mark, and has a body. */
export const signalRecord = (
  parts: Pick<LogRecord, "seq" | "writeId" | "base" | "head" | "body">,
  createdAt: number,
  signal: SignalFacts,
  thread: ThreadFacts,
): LogRecord =>
  withChecksum({
    ...parts,
    checkpointId: undefined,
    metadata: undefined,
    words: undefined,
    fields: { kind: "signal", createdAt, buildsOn: 0, schema: 0, messageCount: 0, chain: EMPTY_CHAIN, signal, thread },
  });

/** The header of an entry, after its format was recognised. Without the body it cannot verify the checksum. */
export const openHeader = (entry: LogEntry): RecordHeader => unfolded(entry, parseHeader(entry));

/** The header of a record, after its bytes were verified. */
export function openRecord(record: LogRecord): RecordHeader {
  const header = openHeader(record);
  assertChecksum(record);
  return header;
}

/** Compares a record with its checksum without parsing it. Its format must have been recognised before. */
export function assertChecksum(record: LogRecord): void {
  const { header, body, seq, checkpointId } = record;
  const begin = header.length - CHECKSUM_MEMBER_LENGTH;
  const sum = checksumOf(record, header, Math.max(0, begin), body);
  // Compared part by part: to join them would make a text for every record of a load.
  const isSealed = header.startsWith(SUM_BEGINS, begin) && header.endsWith(SUM_ENDS);
  if (isSealed && header.startsWith(sum, begin + SUM_BEGINS.length)) return;
  throw new StateError(
    "CORRUPT",
    `record ${seq} does not match its checksum: the stored bytes were damaged or changed by hand`,
    { location: `record ${seq}`, ...(checkpointId !== undefined && { checkpointId }) },
  );
}

/** What a record builds on, of a header that was only parsed. */
export const buildsOnOf = ({ seq }: LogEntry, { buildsOn, kind }: LinkHeader): number =>
  buildsOn ?? usualStep(kind, seq);

function unfolded(entry: LogEntry, stored: StoredHeader): RecordHeader {
  const { kind, chain, fresh, standing, digest, graph, signal, thread } = stored;
  const header: Writable<RecordHeader> = {
    format: stored.format,
    kind,
    createdAt: stored.createdAt,
    buildsOn: buildsOnOf(entry, stored),
    schema: stored.schema ?? 0,
    messageCount: stored.messages,
    bodyBytes: stored.bytes,
    chain:
      chain === undefined
        ? EMPTY_CHAIN
        : { records: chain[0], bytes: chain[1], liveBytes: chain[2], baseBytes: chain[3] },
  };
  if (fresh !== undefined) header.freshMessages = fresh;
  if (standing !== undefined) header.standing = standing;
  if (digest !== undefined) header.digest = digest;
  if (graph !== undefined) header.graph = graph;
  if (signal !== undefined) header.signal = signal;
  if (thread !== undefined) header.thread = thread;
  return header;
}

/** All that a chain needs of a header. */
export type LinkHeader = Pick<StoredHeader, "kind" | "buildsOn" | "thread">;

const USUAL_LINK: LinkHeader = { kind: "delta" };
const USUAL_BEGINS = `{"format":${FORMAT_VERSION},"kind":"delta","createdAt":`;

/**
 * The headers of these entries, after their formats were recognised. Most are
 * those of deltas that build on the record before: their text tells without being
 * parsed, provided that its checksum is verified afterwards.
 */
export function linkHeaders(entries: readonly LogEntry[]): readonly LinkHeader[] {
  const others = entries.filter((entry) => !isUsual(entry));
  if (others.length === 0) return entries.map(() => USUAL_LINK);
  const parsed = new Map(parseHeaders(others).map((stored, index) => [others[index], stored]));
  return entries.map((entry) => parsed.get(entry) ?? USUAL_LINK);
}

export const isUsualLink = (header: LinkHeader): boolean => header === USUAL_LINK;

/** Quotes inside of a text are escaped, so neither name can be part of one. */
const isUsual = ({ header }: LogEntry): boolean =>
  header.startsWith(USUAL_BEGINS) && !header.includes('buildsOn":') && !header.includes('graph"');

function parseHeaders(entries: readonly LogEntry[]): readonly StoredHeader[] {
  const together = parseTexts(entries.map(({ header }) => header));
  return entries.map((entry, index) =>
    together === undefined ? parseHeader(entry) : recognised(entry, together[index]),
  );
}

function parseHeader(entry: LogEntry): StoredHeader {
  let header: unknown;
  try {
    header = JSON.parse(entry.header);
  } catch (cause) {
    throw damagedHeader(entry, cause);
  }
  return recognised(entry, header);
}

function recognised(entry: LogEntry, header: unknown): StoredHeader {
  if (typeof header !== "object" || header === null || !("format" in header)) throw damagedHeader(entry);
  const { format } = header;
  if (typeof format !== "number") throw damagedHeader(entry);
  if (format !== FORMAT_VERSION) assertKnownFormat(format, `record ${entry.seq}`);
  return header as StoredHeader;
}

const damagedHeader = (entry: LogEntry, cause?: unknown): StateError =>
  whyUnopened(entry.header, `the header of record ${entry.seq}`) ??
  new StateError("CORRUPT", `the header of record ${entry.seq} is damaged`, {
    location: `record ${entry.seq}`,
    cause,
  });

/** Of a whole state: it tells two writes of one name apart. */
export const digestOf = (fields: StateFields): string =>
  nodeCrypto().createHash("sha256").update(encodeOwned(fields, "state")).digest("base64url").slice(0, SUM_LENGTH);

/**
 * A thread belongs to an agent or to a graph, from its first record on. Both
 * kinds share a storage, and a request for one kind is never answered with the
 * other.
 */
export const isGraphs = (thread: ThreadFacts | undefined): boolean => thread?.kind === "graph";

/** Refuses a graph's thread where an agent's is expected. */
export function assertAgents(thread: ThreadFacts | undefined): void {
  if (!isGraphs(thread)) return;
  throw new StateError(
    "INVALID_ARGUMENT",
    "the thread belongs to a graph and not to an agent; use a saver (saverOf(checkpointer)) for it, or give the agent a thread id of its own",
  );
}
