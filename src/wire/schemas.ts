/** JSON Schema of every message, for the description. The readers in messages.ts are what both ends go by. */

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: "string" };
const count: Schema = { type: "integer", minimum: 0 };
const flag: Schema = { type: "boolean" };
const list = (items: Schema): Schema => ({ type: "array", items });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const object = (
  required: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema => ({
  type: "object",
  properties: { ...required, ...optional },
  required: Object.keys(required),
});

const entryFields = { seq: count, writeId: text, base: count, head: count, header: text };
const entryExtras = { checkpointId: text, metadata: { ...text, description: "A JSON object as text" } };

export type SchemaName =
  | "Status"
  | "OpenApi"
  | "Problem"
  | "Absent"
  | "Entry"
  | "Record"
  | "FoundEntry"
  | "FoundTail"
  | "Entries"
  | "Chain"
  | "Append"
  | "AppendOutcome"
  | "Removal"
  | "Copy"
  | "CopyOutcome"
  | "ThreadPage"
  | "Search"
  | "Hits"
  | "MetadataQuery"
  | "Clock"
  | "Capabilities"
  | "Events";

export const SCHEMAS: Readonly<Record<SchemaName, Schema>> = {
  Status: object({ status: { enum: ["ok", "unavailable"] } }),
  OpenApi: object({ openapi: text }),
  Problem: object(
    { type: text, title: text, status: count, code: { ...text, description: "The code of a StateError" } },
    { detail: text, instance: text, context: { type: "object" } },
  ),
  Absent: object({ found: { const: false } }),
  Entry: object(entryFields, entryExtras),
  Record: {
    ...object({ ...entryFields, bytes: count }, { ...entryExtras, words: text }),
    description: "Its body follows the head of the frame",
  },
  FoundEntry: object({ found: { const: true }, entry: ref("Entry") }),
  FoundTail: object(
    { found: { const: true }, generation: text, entry: ref("Entry") },
    { ttlMs: { type: "number", minimum: 0 } },
  ),
  Entries: object({ entries: list(ref("Entry")) }),
  Chain: {
    ...object({ generation: text, tail: ref("Entry"), records: list(ref("Record")) }),
    description: "The head of a frame: 4 bytes length of the head, the head, the records' bodies, 4 bytes CRC-32",
  },
  Append: {
    ...object(
      { generation: text, expected: count, record: ref("Record"), replace: list(ref("Record")) },
      { drop: list(count), dropBelow: count, ttlMs: { type: "number", exclusiveMinimum: 0 } },
    ),
    description: "The head of a frame: 4 bytes length of the head, the head, the records' bodies, 4 bytes CRC-32",
  },
  AppendOutcome: object({ appended: flag }, { tail: ref("Entry"), generation: text, occupant: ref("Entry") }),
  Removal: object({ outcome: { enum: ["removed", "absent", "moved"] } }),
  Copy: object({ target: text, generation: text }),
  CopyOutcome: object({ outcome: { enum: ["copied", "no source", "target exists"] } }),
  ThreadPage: object({ items: list(object({ threadId: text, head: ref("Entry") })) }, { cursor: text }),
  Search: object({ words: list(text), limit: count }, { prefix: text }),
  Hits: object({ hits: list(object({ threadId: text, entry: ref("Entry"), score: { type: "number" } })) }),
  MetadataQuery: object({ key: text, valueJson: text, limit: count }, { cursor: text, prefix: text }),
  Clock: object({ now: { type: "number" } }),
  Capabilities: object(
    {
      durability: { enum: ["memory", "os", "fsync", "replicated"] },
      conditionalAppend: flag,
      listThreads: flag,
      ttl: flag,
      maxRecordBytes: count,
      search: { enum: ["none", "deferred", "with words"] },
      metadataQuery: flag,
    },
    { maxChainRecords: count },
  ),
  Events: { type: "string", description: "event: change" },
};
