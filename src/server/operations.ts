import { assertAppend, placeOfTail, recordsIn } from "../checkpoint/log/driver-rules.ts";
import type { AppendRequest, KnownPlace, LogChain } from "../checkpoint/log/thread-log.ts";
import { decodeMetadata, encodeMetadata } from "../checkpoint/record/metadata.ts";
import type { Signal } from "../checkpoint/signals/signal.ts";
import { assertCheckpointId, assertSignalId, assertThreadId, assertWriteId } from "../driver/ids.ts";
import { StateError } from "../errors.ts";
import { Fields } from "../wire/fields.ts";
import { faultInShape, type JsonLimits } from "../wire/json-shape.ts";
import {
  ABSENT,
  capabilitiesJson,
  decodeAppend,
  encodeChain,
  entriesJson,
  foundEntryJson,
  foundJson,
  foundTailJson,
  outcomeJson,
  pageJson,
} from "../wire/messages.ts";
import { entityTag, writeIdFromKey } from "../wire/names.ts";
import { describeProtocol } from "../wire/openapi.ts";
import { EVENTS_TYPE, MAX_PAGE_ITEMS, MAX_WORDS } from "../wire/protocol.ts";
import type { ServiceOperation, ThreadOperation } from "../wire/routes.ts";
import { type Answer, frameAnswer, jsonAnswer } from "./request/answers.ts";
import type { Principal } from "./request/authentication.ts";
import type { ReadHeaders } from "./request/calls.ts";
import { assertSamePlace, hold, onePlace, type Preconditions } from "./request/preconditions.ts";
import { asRefusal, Refusal } from "./request/refusal.ts";
import type { TenantLog } from "./tenants/tenant-log.ts";
import { assertNoUnseenHold } from "./tenants/unseen-holds.ts";
import type { Watches } from "./watches.ts";

/** A request that was let in: authenticated, of a known route, with the scope that the route asks for. */
export interface AdmittedRequest {
  readonly principal: Principal;
  readonly watches: Watches;
  /** Decoded, and ids that a checkpointer would take. */
  readonly thread: string;
  readonly checkpoint: string;
  readonly query: URLSearchParams;
  readonly headers: ReadHeaders;
  /** Asked with HEAD: the answer goes out without its body. */
  readonly isHead: boolean;
  /** Aborts when the client is gone, or was answered that it took too long. */
  signal(): AbortSignal;
  readonly preconditions: Preconditions;
  /** The whole body, within the limit; empty where the route takes none. */
  readonly body: Uint8Array;
  /** Whether the service takes new work. */
  readonly isReady: () => Promise<boolean>;
}

export interface ThreadRequest extends AdmittedRequest {
  /** The tenant's threads. */
  readonly log: TenantLog;
}

export const OPERATE_ON_SERVICE: Readonly<Record<ServiceOperation, (request: AdmittedRequest) => Promise<Answer>>> = {
  health: async () => jsonAnswer({ status: "ok" }),
  readiness: async ({ isReady }) =>
    (await isReady()) ? jsonAnswer({ status: "ok" }) : jsonAnswer({ status: "unavailable" }, 503),
  description: async () => jsonAnswer(describeProtocol()),
};

/** One for each line of the route table that is about threads. What they may touch is in `log`, which sees one tenant. */
export const OPERATE_ON_THREADS: Readonly<Record<ThreadOperation, (request: ThreadRequest) => Promise<Answer>>> = {
  capabilities: async ({ log }) => jsonAnswer(capabilitiesJson(await log.capabilities())),
  now: async ({ log }) => jsonAnswer({ now: await log.now() }),

  listThreads: async ({ log, query }) => {
    const page = { prefix: query.get("prefix") ?? "", cursor: query.get("cursor") ?? undefined };
    return jsonAnswer(pageJson(await log.listThreads({ ...page, limit: limitOf(countIn(query, "limit")) })));
  },

  tail: async ({ log, thread }) => {
    const tail = await log.tail(thread);
    const tag = tail && entityTag(placeOfTail(tail));
    return jsonAnswer(foundTailJson(tail), 200, tag === undefined ? {} : { etag: tag });
  },

  readTail: async ({ log, thread, query }) => chainAnswer(await log.readTail(thread, knownPlaceIn(query))),
  readRecords: async ({ log, thread, query }) => chainAnswer(await log.readRecords(thread, rangeIn(query))),
  readCheckpoint: async ({ log, thread, checkpoint }) => chainAnswer(await log.readCheckpoint(thread, checkpoint)),
  entry: async ({ log, thread, checkpoint }) => jsonAnswer(foundEntryJson(await log.entry(thread, checkpoint))),

  list: async ({ log, thread, query }) => {
    return jsonAnswer(entriesJson(await log.list(thread, rangeIn(query))));
  },

  append: async ({ log, thread, headers, preconditions, body, principal }) => {
    const request = decodeAppend(body);
    assertConsistent(request, preconditions, headers);
    const outcome = await log.append(thread, request, principal.scopes.has("threads:delete"));
    const entry = outcome.appended ? recordsIn(request).at(-1) : outcome.tail;
    const generation = outcome.appended ? request.expected.generation : outcome.generation;
    const isThere = generation !== undefined && entry !== undefined;
    const tag = isThere ? { etag: entityTag(placeOfTail({ generation, entry })) } : {};
    return jsonAnswer(outcomeJson(outcome), outcome.appended ? 201 : 412, tag);
  },

  send: async ({ log, thread, body }) => {
    const text = Buffer.from(body).toString("utf8");
    const fields = Fields.parse(text, "the body", SIGNAL_SHAPE).only("signal", "id", "create");
    fields.object("signal");
    const id = fields.optionalText("id");
    if (id !== undefined) asRefusal(() => assertSignalId(id));
    const { signal, create } = JSON.parse(text) as { readonly signal: Signal; readonly create?: unknown };
    const options = { ...(id !== undefined && { id }), create: create === undefined ? false : fields.flag("create") };
    try {
      const sent = await log.send(thread, signal, options);
      return jsonAnswer({ ...sent }, sent.isRepeated ? 200 : 201);
    } catch (error) {
      if (error instanceof TypeError) throw new Refusal("INVALID_ARGUMENT", error.message);
      throw error;
    }
  },

  remove: async ({ log, thread, preconditions, principal }) => {
    await assertNoUnseenHold(log, principal);
    const outcome = await removeIf(log, thread, preconditions);
    return jsonAnswer({ outcome }, outcome === "moved" ? 412 : 200);
  },

  copy: async ({ log, thread, body }) => {
    const fields = fieldsIn(body).only("target", "generation");
    const [target, generation] = [fields.text("target"), fields.text("generation")];
    asRefusal(() => assertThreadId(target, log.maxThreadIdBytes));
    asRefusal(() => assertWriteId(generation));
    return jsonAnswer({ outcome: await log.copy(thread, target, generation) });
  },

  subscribe: async ({ log, watches, thread, principal, isHead, signal }) => {
    // Whether the storage reports changes is known after contact.
    await log.capabilities();
    // A HEAD request has no reader for the events, so the stream would never end.
    if (isHead) return { status: 200, type: EVENTS_TYPE, body: undefined };
    return watches.watch(log, thread, principal.owner, signal());
  },

  search: async ({ log, body }) => {
    const fields = fieldsIn(body).only("words", "limit", "prefix", "after");
    const limit = limitOf(fields.count("limit"));
    const words = fields.texts("words").map((word) => wellFormed(word, "a word"));
    if (words.length > MAX_WORDS) throw new Refusal("INVALID_ARGUMENT", `a search takes at most ${MAX_WORDS} words`);
    const prefix = wellFormed(fields.optionalText("prefix") ?? "", "prefix");
    return jsonAnswer(foundJson(await log.search(words, { prefix, limit, after: fields.optionalText("after") })));
  },

  queryMetadata: async ({ log, body }) => {
    const fields = fieldsIn(body).only("key", "valueJson", "limit", "cursor", "prefix");
    const prefix = wellFormed(fields.optionalText("prefix") ?? "", "prefix");
    const key = wellFormed(fields.text("key"), "key");
    const valueJson = fields.text("valueJson");
    assertJson(valueJson);
    const page = { prefix, cursor: fields.optionalText("cursor"), limit: limitOf(fields.count("limit")) };
    return jsonAnswer(pageJson(await log.queryMetadata(key, valueJson, page)));
  },
};

/** As deep as what a thread takes. */
const SIGNAL_SHAPE: JsonLimits = { depth: 500, values: 100_000 };

/** An object of texts, numbers and lists of them. */
const BODY_SHAPE: JsonLimits = { depth: 3, values: 5_000 };

const fieldsIn = (body: Uint8Array): Fields => Fields.parse(Buffer.from(body).toString("utf8"), "the body", BODY_SHAPE);

function chainAnswer(chain: LogChain | undefined): Answer {
  if (chain === undefined) return jsonAnswer(ABSENT);
  return frameAnswer(encodeChain(chain), {
    etag: entityTag(placeOfTail({ generation: chain.generation, entry: chain.tail })),
  });
}

/** Half of a character is nothing that a storage could compare with anything. */
function wellFormed(value: string, what: string): string {
  if (value.isWellFormed()) return value;
  throw new Refusal("INVALID_ARGUMENT", `${what} must be well-formed text`);
}

/** A value is compared as the library writes it; what is no JSON would reach a database's own reader. */
function assertJson(valueJson: string): void {
  const fault = faultInShape(valueJson, METADATA_SHAPE);
  if (fault !== undefined) throw new Refusal("INVALID_ARGUMENT", `valueJson ${fault}`);
  try {
    JSON.parse(valueJson);
  } catch {
    throw new Refusal("INVALID_ARGUMENT", "valueJson must be JSON text");
  }
}

function rangeIn(query: URLSearchParams): { readonly before?: number; readonly limit: number } {
  const before = query.has("before") ? { before: countIn(query, "before") } : {};
  return { limit: limitOf(countIn(query, "limit")), ...before };
}

/** A part of a place is not one: then the whole chain is given. */
function knownPlaceIn(query: URLSearchParams): KnownPlace | undefined {
  const [generation, writeId] = [query.get("generation"), query.get("write")];
  const seq = query.has("after") ? countIn(query, "after") : undefined;
  return generation === null || writeId === null || seq === undefined ? undefined : { generation, seq, writeId };
}

function countIn(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? "";
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Refusal("INVALID_ARGUMENT", `${name} must be a whole number`);
}

function limitOf(limit: number): number {
  if (limit <= MAX_PAGE_ITEMS) return limit;
  throw new Refusal("INVALID_ARGUMENT", `limit must be at most ${MAX_PAGE_ITEMS}`);
}

async function removeIf(log: TenantLog, thread: string, asked: Preconditions): Promise<"removed" | "absent" | "moved"> {
  if (asked.ifMatch === undefined && asked.ifNoneMatch === undefined) return log.remove(thread, undefined);
  const named = onePlace(asked);
  if (named !== undefined) return log.remove(thread, named);
  const tail = await log.tail(thread);
  if (tail === undefined) return "absent";
  const place = placeOfTail(tail);
  return hold(asked, entityTag(place)) ? log.remove(thread, place) : "moved";
}

/** Before anything touches the log: checks hand-made requests for what the library guarantees in its own. */
function assertConsistent(request: AppendRequest, asked: Preconditions, headers: ReadHeaders): void {
  const { expected, record, more = [], replace = [] } = request;
  asRefusal(() => assertAppend(request));
  asRefusal(() => assertWriteId(expected.generation));
  for (const { writeId, checkpointId, metadata } of [record, ...more, ...replace]) {
    asRefusal(() => assertWriteId(writeId));
    if (checkpointId !== undefined) asRefusal(() => assertCheckpointId(checkpointId));
    if (metadata !== undefined) assertMetadata(metadata);
  }
  assertSamePlace(asked, expected);
  const key = headers.get("idempotency-key");
  if (key !== null && writeIdFromKey(key) !== record.writeId) {
    throw new Refusal("INVALID_ARGUMENT", "Idempotency-Key must be the record's writeId");
  }
}

/** As deep as the text of any metadata that the library takes. */
const METADATA_SHAPE: JsonLimits = { depth: 2000, values: 100_000 };

/** Drivers index it and listings decode it: one that cannot be read would spoil both for the whole tenant. */
function assertMetadata(metadata: string): void {
  Fields.parse(metadata, "metadata", METADATA_SHAPE);
  try {
    encodeMetadata(decodeMetadata(metadata, "metadata"));
  } catch (error) {
    throw StateError.is(error) ? new Refusal("INVALID_ARGUMENT", error.message) : error;
  }
}
