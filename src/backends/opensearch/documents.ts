import { isUtf8 } from "node:buffer";
import { namesOf } from "../../checkpoint/log/driver-rules.ts";
import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import { type ThreadName, threadName } from "./layout.ts";
import { tagsOf } from "./metadata.ts";
import { storedWords } from "./words.ts";

/**
 * What an append did besides adding the tail; `replace` and `drop` are at or above
 * the floor. Records that it added before the tail are in `replace` too: their
 * documents are written in the same way.
 */
export interface Edits {
  /** Records from here up to the floor must be deleted. */
  readonly from: number;
  readonly replace: readonly LogRecord[];
  readonly drop: readonly number[];
}

/** Documents of a log that has no head, or no head yet. */
export interface Leftover {
  readonly life: string;
  readonly from: number;
  readonly to: number;
  /** A copy that is in progress, or was interrupted. */
  readonly copying: boolean;
}

/** One log of a thread. A thread that is deleted and created again gets a new one. */
export interface Place extends ThreadName {
  readonly life: string;
}

/** A thread, as described by its head document. */
export interface Thread extends Place {
  readonly generation: string;
  /** There is no record below this position. */
  readonly floor: number;
  readonly tail: LogRecord;
  readonly headEntry: LogEntry | undefined;
  readonly edits: Edits | undefined;
  readonly leftovers: readonly Leftover[];
}

type Json = Readonly<Record<string, unknown>>;

export const headSource = (thread: Thread): Json => ({
  kind: "head",
  ...searchable(thread, thread.tail),
  listed: thread.headEntry !== undefined,
  tags: tagsOf(thread.headEntry?.metadata),
  record: stored(thread.tail),
  log: {
    generation: thread.generation,
    floor: thread.floor,
    headEntry: thread.headEntry && storedEntry(thread.headEntry),
    edits: thread.edits && { ...thread.edits, replace: thread.edits.replace.map(storedWithWords) },
    leftovers: thread.leftovers,
  },
});

export const recordSource = (place: Place, record: LogRecord): Json => ({
  kind: "record",
  ...searchable(place, record),
  record: stored(record),
});

export const STUB: Json = { kind: "stub" };

export const goneSource = (leftovers: readonly Leftover[]): Json => ({ kind: "gone", log: { leftovers } });

/** The fields that a search uses. A record without words is not found. */
const searchable = ({ namespace, threadId, life }: Place, record: LogRecord): Json => ({
  namespace,
  thread: threadId,
  life,
  seq: record.seq,
  names: namesOf(record),
  words: storedWords(record.words),
});

const storedEntry = ({ seq, writeId, base, head, checkpointId, names, header, metadata }: LogEntry): Json => ({
  seq,
  writeId,
  base,
  head,
  checkpointId,
  names,
  header,
  metadata,
});

/** Text is kept as text, which is smaller and readable; anything else is base64. */
function stored(record: LogRecord): Json {
  const bytes = Buffer.from(record.body.buffer, record.body.byteOffset, record.body.byteLength);
  const body = isUtf8(bytes) ? { text: bytes.toString("utf8") } : { bytes: bytes.toString("base64") };
  return { ...storedEntry(record), ...body };
}

const storedWithWords = (record: LogRecord): Json => ({ ...stored(record), words: storedWords(record.words) });

/** The fields that a reader of entries excludes. */
export const WITHOUT_BODIES: readonly string[] = [
  ...["record.text", "record.bytes", "words"],
  ...["log.edits.replace.text", "log.edits.replace.bytes", "log.edits.replace.words"],
];

export function toThread(source: Json): Thread {
  const log = object(source["log"]);
  const edits = log["edits"] === undefined ? undefined : object(log["edits"]);
  return {
    ...threadName(text(source, "namespace"), text(source, "thread")),
    generation: text(log, "generation"),
    life: text(source, "life"),
    floor: integer(log, "floor"),
    tail: toRecord(source),
    headEntry: log["headEntry"] === undefined ? undefined : toEntry(object(log["headEntry"])),
    edits: edits && {
      from: integer(edits, "from"),
      replace: list(edits["replace"]).map((entry) => restored(object(entry), object(entry)["words"])),
      drop: list(edits["drop"]) as readonly number[],
    },
    leftovers: toLeftovers(source),
  };
}

export const toLeftovers = (source: Json): readonly Leftover[] =>
  list(object(source["log"])["leftovers"]) as readonly Leftover[];

export const toRecord = (source: Json): LogRecord => restored(object(source["record"]), source["words"]);

function restored(record: Json, words: unknown): LogRecord {
  const { text: plain, bytes } = record as { text?: string; bytes?: string };
  const body = bytes === undefined ? Buffer.from(plain ?? "", "utf8") : Buffer.from(bytes, "base64");
  return { ...toEntry(record), body, words: typeof words === "string" ? words : undefined };
}

export const toEntry = (record: Json): LogEntry => ({
  seq: integer(record, "seq"),
  writeId: text(record, "writeId"),
  base: integer(record, "base"),
  head: integer(record, "head"),
  checkpointId: optional(record, "checkpointId"),
  ...(record["names"] !== undefined && { names: list(record["names"]).map(String) }),
  header: text(record, "header"),
  metadata: optional(record, "metadata"),
});

/** Only the fields of an entry, for an answer that must not hold more. */
export const entryOf = (record: LogEntry): LogEntry => toEntry(storedEntry(record));

function object(value: unknown): Json {
  if (typeof value === "object" && value !== null) return value as Json;
  throw damaged("an object");
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function integer(from: Json, name: string): number {
  const value = from[name];
  if (Number.isSafeInteger(value)) return value as number;
  throw damaged(name);
}

function text(from: Json, name: string): string {
  const value = from[name];
  if (typeof value === "string") return value;
  throw damaged(name);
}

const optional = (from: Json, name: string): string | undefined =>
  from[name] === undefined ? undefined : text(from, name);

const damaged = (what: string): StateError =>
  new StateError("CORRUPT", `a document of the index lacks ${what}: another program wrote or changed it`);
