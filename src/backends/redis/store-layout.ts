import { decodeId, encodeId, idRange } from "../../store/driver/namespaces.ts";
import type {
  Change,
  ChangeResult,
  ItemId,
  Namespace,
  PutChange,
  StoredItem,
} from "../../store/driver/store-driver.ts";
import { countWords } from "../../store/search/bm25.ts";
import { vectorFromBytes, vectorToBytes } from "../../store/search/vectors.ts";
import { assertPrefix } from "./layout.ts";
import type { Argument } from "./port.ts";

/**
 * <prefix>{store}:items    hash: id → record. One hash for all, because scripts name every key that they touch
 *                          beside them, under the field 02, how much each key holds after the last write: a server that
 *                          evicts takes one key and leaves the others, and the store is then CORRUPT until it is mended
 * <prefix>{store}:ids      sorted set of ids, all with the score 0: in the order of their bytes a range is what is below a namespace
 * <prefix>{store}:vectors  hash: name of a vector → the end of the item (8 bytes), then 4 bytes per number
 * <prefix>{store}:vids     sorted set of the names of vectors: <id> 02 <version of the item>
 * <prefix>{store}:words    sorted set of <word> 01 <id> 02 <weight of the word in the item>/<words of the item>
 * <prefix>{store}:ends     sorted set of ids by the time at which their items end
 * <prefix>{store}:writes   hash: write key → "<digest> " and what it answered. Those of the last ten minutes
 * <prefix>{store}:written  sorted set of write keys by time
 *
 * The braces put all of them on one node of a cluster, so that every write is one script.
 *
 * A record is a line, then texts one behind the other:
 *   version created updated end(0: none) bytes-of-value bytes-of-metadata(-1: none) bytes-of-value-fields bytes-of-metadata-fields \n
 *   value metadata value-fields(empty: the same) metadata-fields(empty: the same) words, each "<word> <weight>/<length>\n"
 */
export interface StoreKeys {
  /** In the order that every script expects. */
  readonly all: readonly string[];
}

const KEYS = ["items", "ids", "vectors", "vids", "words", "ends", "writes", "written"];

export function storeKeys(prefix: string): StoreKeys {
  assertPrefix(prefix);
  return { all: KEYS.map((name) => `${prefix}{store}:${name}`) };
}

/** The arguments of one change for the script that writes. */
export function encodeChange(change: Change): readonly Argument[] {
  const { kind, writeKey, digest, expected } = change;
  const head = [kind, encodeId(change), writeKey, digest, expected === undefined ? "" : (expected ?? NO_ITEM)];
  if (change.kind === "remove") return [...head, "", "", "", ""];
  const { vector, ttlMs } = change;
  const bytes = vector === undefined ? "" : Buffer.from(vectorToBytes(vector));
  return [...head, change.version, encodeBody(change), bytes, ttlMs === undefined ? "" : String(ttlMs)];
}

/** The bytes of a vector as one of its own, and the expiry of its item. */
export function openVector(bytes: Buffer): { readonly vector: Float32Array; readonly end: number | undefined } {
  const end = bytes.readDoubleLE(0);
  return { vector: vectorFromBytes(bytes.subarray(8)), end: end === 0 ? undefined : end };
}

const VERSION = "\u0002";

/** The item whose vector has this name. */
export const idOfVector = (name: string): string => name.slice(0, name.indexOf(VERSION));

/** The version with which the vector was put. */
export const versionOfVector = (name: string): string => name.slice(name.indexOf(VERSION) + 1);

/** A name that no vector has: a request for it gets the vector that the item has now. */
export const anyVectorOf = (id: string): string => id + VERSION;

/** The part of a record after the version and the times. */
function encodeBody({ value, metadata, fields, words }: PutChange): Buffer {
  const valueFields = fields.value === value ? "" : fields.value;
  const metadataFields = fields.metadata === (metadata ?? "{}") ? "" : fields.metadata;
  const parts = [value, metadata ?? "", valueFields, metadataFields].map((text) => Buffer.from(text));
  const lengths = parts.map((part) => part.byteLength);
  if (metadata === undefined) lengths[1] = -1;
  const { counts, length } = words === undefined ? { counts: new Map<string, number>(), length: 0 } : countWords(words);
  const lines = [...counts]
    .slice(0, MOST_WORDS)
    .map(([word, weight]) => `${word} ${Number(weight.toFixed(2))}/${length}\n`);
  return Buffer.concat([Buffer.from(`${lengths.join(" ")}\n`), ...parts, Buffer.from(lines.join(""))]);
}

/** Each word is a member of a sorted set, and one script enters all of them. Further words of a longer text are not found. */
const MOST_WORDS = 2000;

/** A record as it is read. */
export interface Record {
  readonly item: StoredItem;
  readonly fields: { readonly value: string; readonly metadata: string };
}

/** No item has it: what a damaged one is given. */
export const UNKNOWN_VERSION = "";

/**
 * In the hash of items, the field that says how much each part holds. An id begins with a segment of a namespace, which
 * is not empty.
 */
export const PARTS_FIELD = "\u0002";

/** In that field, while the store is mended. */
export const MENDING = "mending";

/** In the place of a version: there is no item. No version has such a character. */
export const NO_ITEM = "!";

const UNREADABLE: Omit<StoredItem, keyof ItemId> = {
  value: "",
  metadata: undefined,
  version: UNKNOWN_VERSION,
  createdAt: 0,
  updatedAt: 0,
  expiresAt: undefined,
};

const LINE = /^([\w-]+) (\d+) (\d+) (\d+) (\d+) (-?\d+) (\d+) (\d+)\n/;

/** A damaged one is an item whose value cannot be read: a reader of several names it and continues. */
export function decodeRecord(id: string, bytes: Buffer): Record {
  const match = LINE.exec(bytes.toString("latin1", 0, 200));
  if (match === null) return { item: { ...decodeId(id), ...UNREADABLE }, fields: { value: "", metadata: "" } };
  const [line, version, created, updated, end, ...lengths] = match;
  let at = line.length;
  const [value = "", metadata = "", valueFields = "", metadataFields = ""] = lengths.map((length) => {
    const from = at;
    at += Math.max(0, Number(length));
    return bytes.toString("utf8", from, at);
  });
  const item: StoredItem = {
    ...decodeId(id),
    value,
    metadata: lengths[1] === "-1" ? undefined : metadata,
    version: version ?? UNKNOWN_VERSION,
    createdAt: Number(created),
    updatedAt: Number(updated),
    expiresAt: end === "0" ? undefined : Number(end),
  };
  const otherMetadata = metadata === "" ? "{}" : metadata;
  return {
    item,
    fields: {
      value: valueFields === "" ? value : valueFields,
      metadata: metadataFields === "" ? otherMetadata : metadataFields,
    },
  };
}

/** "version created updated end", as the script returns it. */
export function resultOf(text: string, repeated: boolean): ChangeResult {
  const [version = NO_ITEM, ...times] = text.split(" ");
  const [createdAt, updatedAt, end] = times.map(Number);
  return {
    version: version === NO_ITEM ? null : version,
    createdAt: createdAt ?? 0,
    updatedAt: updatedAt ?? 0,
    expiresAt: end === 0 ? undefined : end,
    repeated,
  };
}

/** The bounds of ZRANGEBYLEX for the items of a scope, after an id; `before` is what precedes each id in the set. */
export function lexBounds(
  { namespace, recursive }: { readonly namespace: Namespace; readonly recursive: boolean },
  { after, before = "" }: { readonly after?: string | undefined; readonly before?: string } = {},
): readonly [from: string, to: string] {
  const [first, end] = idRange(namespace, recursive);
  const from = after === undefined ? `[${before}${first}` : `(${before}${after}`;
  if (end !== undefined) return [from, `(${before}${end}`];
  return [from, before === "" ? "+" : `(${before.slice(0, -1)}\u0002`];
}
