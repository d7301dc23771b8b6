import { isReadable } from "../checkpoint/log/listed-threads.ts";
import type {
  AppendOutcome,
  AppendRequest,
  FoundRecords,
  KnownPlace,
  ListedThread,
  LogCapabilities,
  LogChain,
  LogEntry,
  LogPage,
  LogRecord,
  SearchOrder,
  ThreadTail,
  UnreadableThread,
} from "../checkpoint/log/thread-log.ts";
import type { Durability } from "../driver/durability.ts";
import { Fields, isCount } from "./fields.ts";
import { type BodyReader, decodeFrame, encodeFrame } from "./frame.ts";
import type { JsonLimits } from "./json-shape.ts";

/** Fields that are `undefined` are left out: `JSON.stringify` does that. */
const entryJson = ({ seq, writeId, base, head, checkpointId, names, header, metadata }: LogEntry): object => ({
  seq,
  writeId,
  base,
  head,
  checkpointId,
  names,
  header,
  metadata,
});

/** Written out, because a chain has many: spreading an entry into it would take as long as the rest. */
const recordJson = (record: LogRecord): object => ({
  seq: record.seq,
  writeId: record.writeId,
  base: record.base,
  head: record.head,
  checkpointId: record.checkpointId,
  names: record.names,
  header: record.header,
  metadata: record.metadata,
  words: record.words,
  bytes: record.body.byteLength,
});

const readEntry = (fields: Fields): LogEntry => ({
  seq: fields.count("seq"),
  writeId: fields.text("writeId"),
  base: fields.count("base"),
  head: fields.count("head"),
  checkpointId: fields.optionalText("checkpointId"),
  ...(fields.has("names") && { names: fields.texts("names") }),
  header: fields.text("header"),
  metadata: fields.optionalText("metadata"),
});

const readRecord = (fields: Fields, bodies: BodyReader): LogRecord => ({
  ...readEntry(fields),
  words: fields.optionalText("words"),
  body: bodies.next(fields.count("bytes")),
});

const isOptionalText = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === "string";

/**
 * A record of the usual shape, read at once; `undefined` for any other, which is
 * for `readRecord` to read or to refuse. Most of the time of a long chain goes here.
 */
function usualRecord(value: unknown, bodies: BodyReader): LogRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { seq, writeId, base, head, checkpointId, names, header, metadata, words, bytes } = value as Partial<
    Record<string, unknown>
  >;
  if (!isCount(seq) || !isCount(base) || !isCount(head) || !isCount(bytes)) return undefined;
  if (typeof writeId !== "string" || typeof header !== "string" || names !== undefined) return undefined;
  if (!isOptionalText(checkpointId) || !isOptionalText(metadata) || !isOptionalText(words)) return undefined;
  return { seq, writeId, base, head, checkpointId, header, metadata, words, body: bodies.next(bytes) };
}

/** The bodies follow in the order of the fields: `record`, `more`, `replace`. */
export function encodeAppend({ record, more = [], replace = [], ...rest }: AppendRequest): Uint8Array {
  const behind = more.length === 0 ? {} : { more: more.map(recordJson) };
  const head = { ...rest, record: recordJson(record), ...behind, replace: replace.map(recordJson) };
  return encodeFrame(
    head,
    [record, ...more, ...replace].map(({ body }) => body),
  );
}

/** More than any edit of a history names. A stranger's request must not become a tree of millions. */
const APPEND_SHAPE: JsonLimits = { depth: 4, values: 20_000 };

const RECORD_FIELDS = [
  ...["seq", "writeId", "base", "head", "checkpointId", "names", "header", "metadata", "words", "bytes"],
];
const APPEND_FIELDS = ["expected", "record", "more", "replace", "drop", "dropBelow", "ttlMs"];

const readRecords = (head: Fields, name: "more" | "replace", bodies: BodyReader): readonly LogRecord[] =>
  head.objects(name).map((fields) => readRecord(fields.only(...RECORD_FIELDS), bodies));

const readPlace = (fields: Fields): KnownPlace => ({
  generation: fields.text("generation"),
  seq: fields.count("seq"),
  writeId: fields.text("writeId"),
});

const readAppend = (head: Fields, bodies: BodyReader): AppendRequest => {
  head.only(...APPEND_FIELDS);
  const dropBelow = head.optionalCount("dropBelow");
  const ttlMs = head.has("ttlMs") ? head.number("ttlMs") : undefined;
  return {
    expected: readPlace(head.object("expected").only("generation", "seq", "writeId")),
    record: readRecord(head.object("record").only(...RECORD_FIELDS), bodies),
    ...(head.has("more") && { more: readRecords(head, "more", bodies) }),
    replace: readRecords(head, "replace", bodies),
    ...(head.has("drop") && { drop: head.counts("drop") }),
    ...(dropBelow !== undefined && { dropBelow }),
    ...(ttlMs !== undefined && { ttlMs }),
  };
};

export const decodeAppend = (bytes: Uint8Array): AppendRequest =>
  decodeFrame(bytes, "the append", readAppend, APPEND_SHAPE);

export function encodeChain({ generation, tail, records }: LogChain): Uint8Array {
  const head = { generation, tail: entryJson(tail), records: records.map(recordJson) };
  return encodeFrame(
    head,
    records.map(({ body }) => body),
  );
}

/**
 * A program that gave `Object.prototype` a field of that name: the short way would read
 * it.
 */
const isInherited = (): boolean => RECORD_FIELDS.some((name) => name in Object.prototype);

function readChainRecords(head: Fields, bodies: BodyReader): readonly LogRecord[] {
  const given = head.anything("records");
  if (!Array.isArray(given) || isInherited()) {
    return head.objects("records").map((fields) => readRecord(fields, bodies));
  }
  return given.map((value: unknown, index) => {
    return usualRecord(value, bodies) ?? readRecord(new Fields(value, `the answer.records[${index}]`), bodies);
  });
}

export const decodeChain = (bytes: Uint8Array): LogChain =>
  decodeFrame(bytes, "the answer", (head, bodies) => ({
    generation: head.text("generation"),
    tail: readEntry(head.object("tail")),
    records: readChainRecords(head, bodies),
  }));

export const outcomeJson = (outcome: AppendOutcome): object =>
  outcome.appended
    ? { appended: true }
    : {
        appended: false,
        tail: outcome.tail && entryJson(outcome.tail),
        generation: outcome.generation,
        occupant: outcome.occupant && entryJson(outcome.occupant),
      };

export function readOutcome(fields: Fields): AppendOutcome {
  if (fields.flag("appended")) return { appended: true };
  const [tail, occupant] = [fields.optionalObject("tail"), fields.optionalObject("occupant")];
  return {
    appended: false,
    tail: tail && readEntry(tail),
    generation: fields.optionalText("generation"),
    occupant: occupant && readEntry(occupant),
  };
}

/** The explicit word for "not there". Nothing else means absent: no status, no empty body. */
export const ABSENT = { found: false } as const;

export const foundEntryJson = (entry: LogEntry | undefined): object =>
  entry === undefined ? ABSENT : { found: true, entry: entryJson(entry) };

export const readFoundEntry = (fields: Fields): LogEntry | undefined =>
  fields.flag("found") ? readEntry(fields.object("entry")) : undefined;

export const foundTailJson = (tail: ThreadTail | undefined): object =>
  tail === undefined
    ? ABSENT
    : { found: true, generation: tail.generation, entry: entryJson(tail.entry), ttlMs: tail.ttlMs };

export function readFoundTail(fields: Fields): ThreadTail | undefined {
  if (!fields.flag("found")) return undefined;
  const ttlMs = fields.has("ttlMs") ? { ttlMs: fields.number("ttlMs") } : {};
  return { generation: fields.text("generation"), entry: readEntry(fields.object("entry")), ...ttlMs };
}

export const entriesJson = (entries: readonly LogEntry[]): object => ({ entries: entries.map(entryJson) });
export const readEntries = (fields: Fields): readonly LogEntry[] => fields.objects("entries").map(readEntry);

export const pageJson = ({ items, cursor }: LogPage<ListedThread>): object => ({
  items: items.map((thread) => {
    const { threadId } = thread;
    return isReadable(thread) ? { threadId, head: entryJson(thread.head) } : { threadId, trouble: thread.trouble };
  }),
  cursor,
});

export const readPage = (fields: Fields): LogPage<ListedThread> => ({
  items: fields
    .objects("items")
    .map((item) =>
      item.has("trouble")
        ? { threadId: item.optionalText("threadId"), trouble: readTrouble(item.object("trouble")) }
        : { threadId: item.text("threadId"), head: readEntry(item.object("head")) },
    ),
  cursor: fields.optionalText("cursor"),
});

const readTrouble = (fields: Fields): UnreadableThread["trouble"] => ({
  code: fields.text("code") === "INCOMPATIBLE" ? "INCOMPATIBLE" : "CORRUPT",
  message: fields.text("message"),
});

export const foundJson = ({ hits, order }: FoundRecords): object => ({
  hits: hits.map(({ threadId, entry, score, place }) => ({ threadId, entry: entryJson(entry), score, place })),
  order,
});

export const readFound = (fields: Fields): FoundRecords => ({
  hits: fields.objects("hits").map((hit) => {
    const place = hit.optionalText("place");
    return {
      threadId: hit.text("threadId"),
      entry: readEntry(hit.object("entry")),
      score: hit.number("score"),
      ...(place !== undefined && { place }),
    };
  }),
  order: fields.oneOf("order", ORDERS),
});

const ORDERS: readonly SearchOrder[] = ["best", "newest"];

const DURABILITIES: readonly Durability[] = ["memory", "os", "fsync", "replicated"];
const SEARCHES = ["none", "deferred", "with words"] as const;

/**
 * JSON has no Infinity, so an unlimited chain length is left out. How many calls travel together is between service and
 * storage; contact, notices and a clock are the service's own.
 */
export const capabilitiesJson = ({ connects, subscribe, clock, callsTogether, ...log }: LogCapabilities): object => ({
  ...log,
  maxChainRecords: Number.isFinite(log.maxChainRecords) ? log.maxChainRecords : undefined,
  search: log.search ?? "none",
  metadataQuery: log.metadataQuery === true,
});

export function readCapabilities(fields: Fields): LogCapabilities {
  const maxThreadIdBytes = fields.optionalCount("maxThreadIdBytes");
  const ranksUpTo = fields.optionalCount("ranksUpTo");
  const search = fields.oneOf("search", SEARCHES);
  return {
    durability: fields.oneOf("durability", DURABILITIES),
    conditionalAppend: fields.flag("conditionalAppend"),
    listThreads: fields.flag("listThreads"),
    ttl: fields.flag("ttl"),
    maxRecordBytes: fields.count("maxRecordBytes"),
    maxChainRecords: fields.optionalCount("maxChainRecords") ?? Number.POSITIVE_INFINITY,
    ...(maxThreadIdBytes !== undefined && { maxThreadIdBytes }),
    ...(ranksUpTo !== undefined && { ranksUpTo }),
    search: search === "none" ? undefined : search,
    metadataQuery: fields.flag("metadataQuery"),
  };
}

export const REMOVE_OUTCOMES = ["removed", "absent", "moved"] as const;
export const COPY_OUTCOMES = ["copied", "no source", "target exists"] as const;
