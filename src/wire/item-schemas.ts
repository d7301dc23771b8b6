/** JSON Schema of the messages about items. The readers in item-messages.ts are what both ends go by. */

import { MAX_NAMESPACE_BYTES, MAX_SEGMENTS } from "../store/driver/namespaces.ts";
import { MOST_CHANGES } from "../store/driver/store-driver.ts";
import { LONGEST_TTL_SECONDS } from "../store/items/store-options.ts";
import { MOST_WORDS } from "../store/search/words.ts";
import {
  count,
  flag,
  id,
  jsonText,
  limit,
  list,
  metadata,
  object,
  ref,
  request,
  type Schema,
  text,
} from "./schema-parts.ts";

const namespaceOf = (minItems: number): Schema => ({
  ...list(id),
  minItems,
  maxItems: MAX_SEGMENTS,
  description: `At most ${MAX_NAMESPACE_BYTES} bytes of UTF-8, and one more for each segment`,
});
const namespace = namespaceOf(1);
/** Where items are looked for, the empty one stands for all of them. */
const scopeName = namespaceOf(0);
const time: Schema = { type: "number" };
const score: Schema = { type: "number" };
const words: Schema = {
  type: "string",
  format: "holdfast-words",
  description: "Words of letters, digits and _ with single spaces between them",
};
const vector: Schema = {
  type: "string",
  format: "holdfast-vector",
  description: "Numbers of 4 little-endian bytes (IEEE 754), all of them in base64; finite, and not all zero",
};

const scalar: Schema = { anyOf: [text, { type: "number" }, flag, { type: "null" }] };
const ordered: Schema = { anyOf: [text, { type: "number" }] };
const scalars: Schema = { ...list(scalar), maxItems: 1000 };
/** A name that begins with `$` is an operator, and there are no others. */
const FIELD = "^([^$]|$)";

const filterWith = (name: string, more: Readonly<Record<string, Schema>> = {}): Schema => ({
  type: "object",
  properties: { $and: list(ref(name)), $or: list(ref(name)), $not: ref(name), ...more },
  patternProperties: { [FIELD]: { anyOf: [scalar, ref("FieldFilter")] } },
  additionalProperties: false,
});

const itemId = { namespace, key: id };
const version: Schema = { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" };
const versionOrNone: Schema = { anyOf: [version, { type: "null" }] };
const change = {
  ...itemId,
  writeKey: id,
  digest: { ...version, description: "A digest of what the write makes of the item" },
};
const expected = { ...versionOrNone, description: "The version that must be there; null for no item" };
const scope = { namespace: scopeName, recursive: flag };
const filter = { filter: ref("Filter") };

export type ItemSchemaName =
  | "ItemId"
  | "Ids"
  | "Item"
  | "FoundItems"
  | "ItemPage"
  | "RankedItems"
  | "ItemPut"
  | "ItemRemoval"
  | "Writes"
  | "Removals"
  | "WriteOutcome"
  | "Clear"
  | "Count"
  | "Scan"
  | "NamespaceQuery"
  | "NamespacePage"
  | "WordQuery"
  | "VectorQuery"
  | "FoundVector"
  | "Below"
  | "FoundDimension"
  | "ItemCapabilities"
  | "Filter"
  | "MetadataFilter"
  | "FieldFilter";

export const ITEM_SCHEMAS: Readonly<Record<ItemSchemaName, Schema>> = {
  ItemId: request(itemId),
  Ids: request({ ids: { ...list(ref("ItemId")), maxItems: MOST_CHANGES } }),
  Item: object(
    { ...itemId, value: jsonText, version, createdAt: time, updatedAt: time },
    { metadata, expiresAt: time },
  ),
  FoundItems: object({ items: list(object({ found: flag }, { item: ref("Item") })) }),
  ItemPage: object({ items: list(ref("Item")), more: { ...flag, description: "Whether there are more" } }),
  RankedItems: object({
    hits: list(object({ item: ref("Item"), score })),
    rest: {
      ...list(object({ ...itemId, score })),
      description: "Names of further results that would have made the answer too large: read them by name",
    },
  }),
  ItemPut: request(
    {
      kind: { const: "put" },
      ...change,
      version: { ...version, description: "The item's version afterwards: each write gives a new one" },
      value: jsonText,
    },
    {
      expected,
      metadata,
      words: request({ text: words, label: words, before: words, after: words }),
      vector,
      ttlMs: { anyOf: [{ type: "integer", minimum: 1, maximum: LONGEST_TTL_SECONDS * 1000 }, { const: "keep" }] },
    },
  ),
  ItemRemoval: request({ kind: { const: "remove" }, ...change }, { expected }),
  Writes: request({
    changes: {
      ...list({ oneOf: [ref("ItemPut"), ref("ItemRemoval")] }),
      minItems: 1,
      maxItems: MOST_CHANGES,
      description: "One change per item, each with a writeKey of its own",
    },
  }),
  Removals: request({ changes: { ...list(ref("ItemRemoval")), minItems: 1, maxItems: MOST_CHANGES } }),
  WriteOutcome: object(
    { applied: flag },
    {
      results: list(
        object({ version: versionOrNone, createdAt: time, updatedAt: time, repeated: flag }, { expiresAt: time }),
      ),
      index: { ...count, description: "The first change that was refused" },
      because: {
        enum: ["version", "write key"],
        description: "Another version is there, or the writeKey is another write's",
      },
      version: {
        ...versionOrNone,
        description: "The present version; null for no item, or if the writeKey is the reason",
      },
    },
  ),
  Clear: request({ ...scope, before: time, limit }),
  Count: object({ count }),
  Scan: request({ ...scope, limit }, { ...filter, after: ref("ItemId") }),
  NamespaceQuery: request({ prefix: scopeName, limit }, { after: namespace }),
  NamespacePage: object({ namespaces: list(list(text)) }),
  WordQuery: request(
    { ...scope, words: { ...list({ ...words, format: "holdfast-word" }), maxItems: MOST_WORDS }, limit },
    filter,
  ),
  VectorQuery: request({ ...scope, vector, limit }, filter),
  FoundVector: object({ found: { const: true }, vector }),
  Below: request({ namespace: scopeName }),
  FoundDimension: object({ found: { const: true }, dimension: count }),
  ItemCapabilities: object({
    durability: { enum: ["memory", "os", "fsync", "replicated"] },
    transactions: flag,
    ttl: flag,
    maxItemBytes: count,
    maxBodyBytes: count,
    vectorSearch: { enum: ["exact", "index", "none"] },
    maxExactVectors: count,
    textSearch: flag,
  }),
  Filter: { ...filterWith("Filter", { $metadata: ref("MetadataFilter") }), description: "As docs/store.md describes" },
  MetadataFilter: filterWith("MetadataFilter"),
  FieldFilter: {
    type: "object",
    minProperties: 1,
    properties: {
      $eq: scalar,
      $ne: scalar,
      $gt: ordered,
      $gte: ordered,
      $lt: ordered,
      $lte: ordered,
      $in: scalars,
      $nin: scalars,
      $exists: flag,
      $not: ref("FieldFilter"),
    },
    additionalProperties: false,
  },
};
