import { assertCheckpointId, assertThreadId, assertWriteId } from "../checkpoint/ids.ts";
import type { AppendRequest, LogChain } from "../checkpoint/thread-log.ts";
import { StateError } from "../errors.ts";
import { Fields } from "../wire/fields.ts";
import {
  ABSENT,
  capabilitiesJson,
  decodeAppend,
  encodeChain,
  entriesJson,
  foundEntryJson,
  foundTailJson,
  hitsJson,
  outcomeJson,
  pageJson,
} from "../wire/messages.ts";
import { entityTag, placeFromTag, type ThreadPlace, writeIdFromKey } from "../wire/names.ts";
import { describeProtocol } from "../wire/openapi.ts";
import { MAX_PAGE_ITEMS } from "../wire/protocol.ts";
import type { Operation } from "../wire/routes.ts";
import { type Answer, frameAnswer, jsonAnswer } from "./answers.ts";
import type { Principal } from "./authentication.ts";
import { Refusal } from "./refusal.ts";
import type { TenantLog } from "./tenant-log.ts";
import type { Watches } from "./watches.ts";

/** A request that was let in: authenticated, of a known route, with the scope that the route asks for. */
export interface AdmittedRequest {
  readonly principal: Principal;
  readonly log: TenantLog;
  readonly watches: Watches;
  /** Decoded, and ids that a checkpointer would take. */
  readonly thread: string;
  readonly checkpoint: string;
  readonly maxThreadIdBytes: number;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  /** The whole body, within the limit. */
  readonly body: () => Promise<Uint8Array>;
  /** Whether the service takes new work. */
  readonly isReady: () => Promise<boolean>;
}

type Operate = (request: AdmittedRequest) => Promise<Answer>;

/** One for each line of the route table. What they may touch is in `log`, which sees one tenant. */
export const OPERATE: Readonly<Record<Operation, Operate>> = {
  health: async () => jsonAnswer({ status: "ok" }),
  readiness: async ({ isReady }) =>
    (await isReady()) ? jsonAnswer({ status: "ok" }) : jsonAnswer({ status: "unavailable" }, 503),
  description: async () => jsonAnswer(describeProtocol()),
  capabilities: async ({ log }) => jsonAnswer(capabilitiesJson(await log.capabilities())),
  now: async ({ log }) => jsonAnswer({ now: await log.now() }),

  listThreads: async ({ log, query }) => {
    const page = { prefix: query.get("prefix") ?? "", cursor: query.get("cursor") ?? undefined };
    return jsonAnswer(pageJson(await log.listThreads({ ...page, limit: limitOf(countIn(query, "limit")) })));
  },

  tail: async ({ log, thread }) => {
    const tail = await log.tail(thread);
    const tag = tail && entityTag({ generation: tail.generation, seq: tail.entry.seq });
    return jsonAnswer(foundTailJson(tail), 200, tag === undefined ? {} : { etag: tag });
  },

  readTail: async ({ log, thread }) => chainAnswer(await log.readTail(thread)),
  readCheckpoint: async ({ log, thread, checkpoint }) => chainAnswer(await log.readCheckpoint(thread, checkpoint)),
  entry: async ({ log, thread, checkpoint }) => jsonAnswer(foundEntryJson(await log.entry(thread, checkpoint))),

  list: async ({ log, thread, query }) => {
    const before = query.has("before") ? countIn(query, "before") : undefined;
    const options = { limit: limitOf(countIn(query, "limit")), ...(before !== undefined && { before }) };
    return jsonAnswer(entriesJson(await log.list(thread, options)));
  },

  append: async ({ log, thread, headers, body, principal }) => {
    const place = appendPlace(headers);
    const request = decodeAppend(await body());
    assertConsistent(request, place, headers);
    if (!principal.scopes.has("threads:delete")) await assertKeepsHistory(log, thread, request);
    const outcome = await log.append(thread, request);
    const seq = outcome.appended ? request.record.seq : (outcome.tail?.seq ?? 0);
    const generation = outcome.appended ? request.generation : outcome.generation;
    const tag = generation === undefined ? {} : { etag: entityTag({ generation, seq }) };
    return jsonAnswer(outcomeJson(outcome), outcome.appended ? 201 : 412, tag);
  },

  remove: async ({ log, thread, headers }) => {
    const tag = headers.get("if-match");
    const outcome = await log.remove(thread, tag === null ? undefined : placeIn(tag));
    return jsonAnswer({ outcome }, outcome === "moved" ? 412 : 200);
  },

  copy: async ({ log, thread, maxThreadIdBytes, body }) => {
    const fields = Fields.parse(Buffer.from(await body()).toString("utf8"), "the body");
    const [target, generation] = [fields.text("target"), fields.text("generation")];
    asRefusal(() => assertThreadId(target, maxThreadIdBytes));
    asRefusal(() => assertWriteId(generation));
    return jsonAnswer({ outcome: await log.copy(thread, target, generation) });
  },

  subscribe: async ({ log, watches, thread, signal }) => {
    // Whether the storage tells of changes is known after contact.
    await log.capabilities();
    return watches.watch(log, thread, signal);
  },

  search: async ({ log, body }) => {
    const fields = Fields.parse(Buffer.from(await body()).toString("utf8"), "the body");
    const limit = limitOf(fields.count("limit"));
    const words = fields.texts("words");
    if (words.length > MAX_WORDS) throw new Refusal("INVALID_ARGUMENT", `a search takes at most ${MAX_WORDS} words`);
    return jsonAnswer(hitsJson(await log.search(words, fields.optionalText("prefix") ?? "", limit)));
  },

  queryMetadata: async ({ log, body }) => {
    const fields = Fields.parse(Buffer.from(await body()).toString("utf8"), "the body");
    const prefix = fields.optionalText("prefix") ?? "";
    const page = { prefix, cursor: fields.optionalText("cursor"), limit: limitOf(fields.count("limit")) };
    return jsonAnswer(pageJson(await log.queryMetadata(fields.text("key"), fields.text("valueJson"), page)));
  },
};

/** More than anybody searches for; each of them costs the index a lookup. */
const MAX_WORDS = 1000;

function chainAnswer(chain: LogChain | undefined): Answer {
  if (chain === undefined) return jsonAnswer(ABSENT);
  return frameAnswer(encodeChain(chain), { etag: entityTag({ generation: chain.generation, seq: chain.tail.seq }) });
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

/** Where the thread must stand for this append: 0 when it must not exist. */
function appendPlace(headers: Headers): ThreadPlace | undefined {
  const [ifMatch, ifNoneMatch] = [headers.get("if-match"), headers.get("if-none-match")];
  if (ifMatch === null && ifNoneMatch === "*") return undefined;
  if (ifMatch !== null && ifNoneMatch === null) return placeIn(ifMatch);
  const message = 'an append needs If-Match: "<generation>:<tail>", or If-None-Match: * to make the thread';
  throw new Refusal("INVALID_ARGUMENT", message, { status: 428 });
}

function placeIn(tag: string): ThreadPlace {
  const place = placeFromTag(tag);
  if (place === undefined) throw new Refusal("INVALID_ARGUMENT", 'If-Match must be one "<generation>:<tail>"');
  return place;
}

/** The headers are what everything in between reads: they must say what the body says. */
function assertConsistent(request: AppendRequest, place: ThreadPlace | undefined, headers: Headers): void {
  const { generation, expected, record, replace = [] } = request;
  asRefusal(() => assertWriteId(generation));
  for (const { writeId, checkpointId, metadata } of [record, ...replace]) {
    asRefusal(() => assertWriteId(writeId));
    if (checkpointId !== undefined) asRefusal(() => assertCheckpointId(checkpointId));
    // Drivers index it as JSON, and one row that is none could spoil a query for everybody.
    if (metadata !== undefined) Fields.parse(metadata, "metadata");
  }
  const sameplace = place === undefined ? expected === 0 : place.seq === expected && place.generation === generation;
  if (!sameplace) throw new Refusal("INVALID_ARGUMENT", "the body expects another place than the precondition");
  if (record.seq !== expected + 1) throw new Refusal("INVALID_ARGUMENT", "a record goes to the place behind the tail");
  const key = headers.get("idempotency-key");
  if (key !== null && writeIdFromKey(key) !== record.writeId) {
    throw new Refusal("INVALID_ARGUMENT", "Idempotency-Key must be the record's writeId");
  }
}

/** More than a save under a lease ever takes out. */
const MARKS_AT_ONCE = 16;

/** Whoever may only write may add, and tidy up after a lease; to take checkpoints out, now or at a set time, is to delete. */
async function assertKeepsHistory(log: TenantLog, thread: string, request: AppendRequest): Promise<void> {
  const { replace = [], drop = [], dropBelow, ttlMs } = request;
  if (ttlMs !== undefined) {
    throw new Refusal("PERMISSION_DENIED", "to let a thread expire, the token needs the scope threads:delete");
  }
  const isHarmless = replace.length === 0 && dropBelow === undefined && drop.length <= MARKS_AT_ONCE;
  if (isHarmless && !(await log.holdsCheckpoint(thread, drop))) return;
  throw new Refusal("PERMISSION_DENIED", "to take checkpoints out, the token needs the scope threads:delete");
}

/** The checks of ids are those of the checkpointer; here they are about a request. */
export function asRefusal(check: () => void): void {
  try {
    check();
  } catch (error) {
    throw StateError.is(error) ? new Refusal(error.code, error.message) : error;
  }
}
