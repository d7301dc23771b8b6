/** JSON Schema of every message, for the description. Both ends validate with the readers in messages.ts. */

import { LONGEST_TTL_MS, MOST_NAMES, MOST_RECORDS } from "../checkpoint/log/driver-rules.ts";
import { MAX_ID_BYTES } from "../driver/ids.ts";
import { ITEM_SCHEMAS, type ItemSchemaName } from "./item-schemas.ts";
import { MAX_WORDS } from "./protocol.ts";
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

/** The highest position still has one behind it. */
const place: Schema = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER - 1 };
const position: Schema = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const cursor: Schema = { type: "string", format: "holdfast-cursor", description: "From the previous page" };

const oneOf = (...forms: readonly Schema[]): Schema => ({ anyOf: forms });
const oneOrMore = (...forms: readonly Schema[]): Schema => oneOf(...forms, { ...list(oneOf(...forms)), minItems: 1 });

/** What a user says: a text, or its parts. */
const said: Schema = oneOf(text, { ...list(object({ type: { const: "text" }, text })), minItems: 1 });

const segment = (bytes: number): Schema => ({
  type: "string",
  format: "holdfast-id",
  description: `1 to ${bytes} bytes of UTF-8 without control characters, in base64url without padding`,
});

/** Ids as they appear in a path. */
export const PATH_IDS: Readonly<Record<string, Schema>> = {
  thread: segment(MAX_ID_BYTES),
  checkpoint: segment(MAX_ID_BYTES),
};

export type ParameterKind = "text" | "cursor" | "limit" | "position";

export const PARAMETERS: Readonly<Record<ParameterKind, Schema>> = {
  text,
  cursor,
  limit,
  position: { type: "integer", minimum: 0, maximum: 999_999_999_999_999 },
};

const entryFields = { seq: position, writeId: id, base: position, head: count, header: text };
const names: Schema = { ...list(id), minItems: 1, maxItems: MOST_NAMES, uniqueItems: true };
const entryExtras = { checkpointId: id, names, metadata };

export type SchemaName =
  | ItemSchemaName
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
  | "Send"
  | "Sent"
  | "Copy"
  | "CopyOutcome"
  | "ThreadPage"
  | "ListedThread"
  | "Search"
  | "Hits"
  | "MetadataQuery"
  | "Clock"
  | "Capabilities"
  | "Events";

export const SCHEMAS: Readonly<Record<SchemaName, Schema>> = {
  ...ITEM_SCHEMAS,
  Status: object({ status: { enum: ["ok", "unavailable"] } }),
  OpenApi: object({ openapi: text }),
  Problem: object(
    { type: text, title: text, status: count, code: { ...text, description: "The code of a StateError" } },
    { detail: text, instance: text, context: { type: "object" } },
  ),
  Absent: object({ found: { const: false } }),
  Entry: object(entryFields, entryExtras),
  Record: {
    ...request({ ...entryFields, bytes: count }, { ...entryExtras, words: text }),
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
    ...request(
      {
        expected: request({ generation: id, seq: place, writeId: text }),
        record: ref("Record"),
        replace: { ...list(ref("Record")), maxItems: 100 },
      },
      {
        more: { ...list(ref("Record")), maxItems: MOST_RECORDS - 1 },
        drop: list(position),
        dropBelow: position,
        ttlMs: { type: "number", exclusiveMinimum: 0, maximum: LONGEST_TTL_MS },
      },
    ),
    description: "The head of a frame: 4 bytes length of the head, the head, the records' bodies, 4 bytes CRC-32",
  },
  AppendOutcome: object({ appended: flag }, { tail: ref("Entry"), generation: text, occupant: ref("Entry") }),
  Removal: object({ outcome: { enum: ["removed", "absent", "moved"] } }),
  Send: request(
    {
      signal: {
        type: "object",
        minProperties: 1,
        maxProperties: 1,
        additionalProperties: false,
        properties: {
          message: {
            ...oneOf(said, object({ role: { const: "user" }, content: said })),
            description: "A text, a list of parts, or a user message. A part may also be a file",
          },
          answer: {
            ...oneOrMore(
              request({ id: text, response: {} }, { by: text, reason: text }),
              request({ id: text, decline: { anyOf: [{ const: true }, text] } }, { by: text, reason: text }),
            ),
            description: "Of what waits: an answer, or that there will be none",
          },
          result: {
            ...oneOrMore(request({ toolCallId: text, result: {} }), request({ toolCallId: text, error: {} })),
            description: "Of a call that another system carried out: its result, or why there is none",
          },
          cancel: { anyOf: [{ const: true }, text], description: "true, or the reason" },
        },
      },
    },
    { id, create: flag },
  ),
  Sent: object({ id, isRepeated: flag }),
  Copy: request({ target: id, generation: id }),
  CopyOutcome: object({ outcome: { enum: ["copied", "no source", "target exists"] } }),
  ThreadPage: object({ items: list(ref("ListedThread")) }, { cursor: text }),
  ListedThread: {
    ...object({}, { threadId: text, head: ref("Entry"), trouble: object({ code: text, message: text }) }),
    description: "With its head; or, if it cannot be read, with the error, and its id if that is known",
  },
  Search: request({ words: { ...list(text), maxItems: MAX_WORDS }, limit }, { prefix: text, after: cursor }),
  Hits: object({
    hits: list(object({ threadId: text, entry: ref("Entry"), score: { type: "number" } }, { place: text })),
    order: {
      enum: ["best", "newest"],
      description: "newest: more records have the words than the storage ranks, so the newest come first",
    },
  }),
  MetadataQuery: request({ key: text, valueJson: jsonText, limit }, { cursor, prefix: text }),
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
    { maxChainRecords: count, maxThreadIdBytes: count, ranksUpTo: count },
  ),
  Events: { ...object({ event: { const: "change" }, data: text }), description: "One event of the stream" },
};
