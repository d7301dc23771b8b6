import type { Durability } from "../driver/durability.ts";
import type {
  Change,
  ChangeResult,
  ItemId,
  ItemWords,
  PutChange,
  RankedItem,
  Scope,
  StoreDriverCapabilities,
  StoredItem,
  WriteOutcome,
} from "../store/driver/store-driver.ts";
import { LONGEST_TTL_SECONDS } from "../store/items/store-options.ts";
import { filterOf } from "../store/search/filter.ts";
import { vectorFromBytes, vectorToBytes } from "../store/search/vectors.ts";
import { type Fields, MalformedMessage } from "./fields.ts";

const LONGEST_TTL_MS = LONGEST_TTL_SECONDS * 1000;

export const vectorText = (vector: Float32Array): string => Buffer.from(vectorToBytes(vector)).toString("base64");

export function vectorFrom(text: string): Float32Array {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text || bytes.byteLength % 4 !== 0) {
    throw new MalformedMessage("a vector must be base64 of 4 bytes for each number");
  }
  return vectorFromBytes(bytes);
}

export const readId = (fields: Fields): ItemId => ({ namespace: fields.texts("namespace"), key: fields.text("key") });

/** A condition travels as the filter that means it. */
export const scopeJson = ({ namespace, recursive, condition }: Scope): object => ({
  namespace,
  recursive,
  ...(condition !== undefined && { filter: filterOf(condition) }),
});

/** What filters look at is left out: the service makes it from the value. */
export function changeJson(change: Change): object {
  const { kind, namespace, key, writeKey, digest, expected } = change;
  const head = { kind, namespace, key, writeKey, digest, expected };
  if (change.kind === "remove") return head;
  const { version, value, metadata, words, vector, ttlMs } = change;
  return { ...head, version, value, metadata, words, vector: vector && vectorText(vector), ttlMs };
}

export type ReadPut = Omit<PutChange, "fields">;

const REMOVAL_FIELDS = ["kind", "namespace", "key", "writeKey", "digest", "expected"];
const PUT_FIELDS = [...REMOVAL_FIELDS, "version", "value", "metadata", "words", "vector", "ttlMs"];

export function readChange(fields: Fields): ReadPut | Extract<Change, { kind: "remove" }> {
  const kind = fields.oneOf("kind", ["put", "remove"]);
  fields.only(...(kind === "put" ? PUT_FIELDS : REMOVAL_FIELDS));
  const head = {
    ...readId(fields),
    writeKey: fields.text("writeKey"),
    digest: fields.text("digest"),
    expected: fields.has("expected") ? readVersion(fields, "expected") : undefined,
  };
  if (kind === "remove") return { kind, ...head };
  const words = fields.optionalObject("words")?.only("text", "label", "before", "after");
  const vector = fields.optionalText("vector");
  return {
    kind,
    ...head,
    version: fields.text("version"),
    value: fields.text("value"),
    metadata: fields.optionalText("metadata"),
    words: words && readWords(words),
    vector: vector === undefined ? undefined : vectorFrom(vector),
    ttlMs: readTtl(fields),
  };
}

const readWords = (fields: Fields): ItemWords => ({
  text: fields.text("text"),
  label: fields.text("label"),
  before: fields.text("before"),
  after: fields.text("after"),
});

function readTtl(fields: Fields): PutChange["ttlMs"] {
  if (!fields.has("ttlMs")) return undefined;
  if (fields.is("ttlMs", "keep")) return "keep";
  const ttlMs = fields.number("ttlMs");
  if (Number.isInteger(ttlMs) && ttlMs >= 1 && ttlMs <= LONGEST_TTL_MS) return ttlMs;
  throw new MalformedMessage(`ttlMs must be "keep", or a whole number from 1 to ${LONGEST_TTL_MS}`);
}

export function readWriteOutcome(fields: Fields): WriteOutcome {
  if (!fields.flag("applied")) {
    const because = fields.oneOf("because", ["version", "write key"]);
    return { applied: false, index: fields.count("index"), because, version: readVersion(fields, "version") };
  }
  return { applied: true, results: fields.objects("results").map(readResult) };
}

/** `null` for no item. */
const readVersion = (fields: Fields, name: string): string | null => (fields.isNull(name) ? null : fields.text(name));

const readResult = (fields: Fields): ChangeResult => ({
  version: readVersion(fields, "version"),
  createdAt: fields.number("createdAt"),
  updatedAt: fields.number("updatedAt"),
  expiresAt: fields.has("expiresAt") ? fields.number("expiresAt") : undefined,
  repeated: fields.flag("repeated"),
});

/** Field by field: a user's driver may hand on more of its row than belongs to the message. */
export const itemJson = (item: StoredItem): object => {
  const { namespace, key, value, metadata, version, createdAt, updatedAt, expiresAt } = item;
  return { namespace, key, value, metadata, version, createdAt, updatedAt, expiresAt };
};

export const readItem = (fields: Fields): StoredItem => ({
  ...readId(fields),
  value: fields.text("value"),
  metadata: fields.optionalText("metadata"),
  version: fields.text("version"),
  createdAt: fields.number("createdAt"),
  updatedAt: fields.number("updatedAt"),
  expiresAt: fields.has("expiresAt") ? fields.number("expiresAt") : undefined,
});

export const foundItemJson = (item: StoredItem | undefined): object =>
  item === undefined ? { found: false } : { found: true, item: itemJson(item) };

export const readFoundItems = (fields: Fields): readonly (StoredItem | undefined)[] =>
  fields.objects("items").map((each) => (each.flag("found") ? readItem(each.object("item")) : undefined));

export const hitJson = ({ item, score }: RankedItem): object => ({ item: itemJson(item), score });

export interface RankedAnswer {
  readonly hits: readonly RankedItem[];
  /** What comes behind them, by name: all of it would have been too large. */
  readonly rest: readonly { readonly id: ItemId; readonly score: number }[];
}

export const readRanked = (fields: Fields): RankedAnswer => ({
  hits: fields.objects("hits").map((hit) => ({ item: readItem(hit.object("item")), score: hit.number("score") })),
  rest: fields.objects("rest").map((each) => ({ id: readId(each), score: each.number("score") })),
});

const DURABILITIES: readonly Durability[] = ["memory", "os", "fsync", "replicated"];
const VECTOR_SEARCHES = ["exact", "index", "none"] as const;

/** What the store behind a service can do, as its clients need to know it. Whether it seals is the service's own matter. */
export interface RemoteStoreCapabilities extends Required<Omit<StoreDriverCapabilities, "sealing" | "connects">> {
  /** The largest request: what a batch has to fit into. */
  readonly maxBodyBytes: number;
}

/** JSON has no Infinity. */
export const storeCapabilitiesJson = (capabilities: RemoteStoreCapabilities): object => ({
  ...capabilities,
  maxExactVectors: Math.min(capabilities.maxExactVectors, Number.MAX_SAFE_INTEGER),
  maxItemBytes: Math.min(capabilities.maxItemBytes, Number.MAX_SAFE_INTEGER),
});

export const readStoreCapabilities = (fields: Fields): RemoteStoreCapabilities => ({
  durability: fields.oneOf("durability", DURABILITIES),
  transactions: fields.flag("transactions"),
  ttl: fields.flag("ttl"),
  maxItemBytes: fields.count("maxItemBytes"),
  maxBodyBytes: fields.count("maxBodyBytes"),
  vectorSearch: fields.oneOf("vectorSearch", VECTOR_SEARCHES),
  maxExactVectors: fields.count("maxExactVectors"),
  textSearch: fields.flag("textSearch"),
});
