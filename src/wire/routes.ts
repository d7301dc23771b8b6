import { ITEM_ROUTES, type ItemOperation } from "./item-routes.ts";
import { encodeSegment } from "./names.ts";
import { EVENTS_TYPE, FRAME_TYPE, JSON_TYPE } from "./protocol.ts";
import { absent, json, type QueryParameter, type Route, type RouteAnswer } from "./route.ts";

const chain: RouteAnswer = { status: 200, means: "The records of one state", type: FRAME_TYPE, schema: "Chain" };
const limit: QueryParameter = { name: "limit", means: "The most to return", schema: "limit", required: true };
const cursor: QueryParameter = { name: "cursor", means: "From the previous page", schema: "cursor" };

/** Two ids whose characters are all escaped. */
const SMALL_BODY = 16 * 1024;
/** As much as may wait in a thread, and as JSON writes it at worst. */
const SIGNAL_BODY = 8 * 1024 * 1024;

/** More than any real search needs. */
const QUERY_BODY = 256 * 1024;

/** What is asked of the service itself. */
export type ServiceOperation = "health" | "readiness" | "description";

export type ThreadOperation =
  | "capabilities"
  | "now"
  | "listThreads"
  | "tail"
  | "remove"
  | "readTail"
  | "readRecords"
  | "append"
  | "send"
  | "list"
  | "entry"
  | "readCheckpoint"
  | "copy"
  | "subscribe"
  | "search"
  | "queryMetadata";

export type Operation = ServiceOperation | ThreadOperation | ItemOperation;

const OTHER_ROUTES: Readonly<Record<ServiceOperation | ThreadOperation, Route>> = {
  health: {
    method: "GET",
    path: "/healthz",
    access: "public",
    means: "Whether the process runs",
    answers: [json("Status", "It does")],
  },
  readiness: {
    method: "GET",
    path: "/readyz",
    access: "public",
    means: "Whether the storage answers and the service is not shutting down",
    answers: [json("Status", "Both"), json("Status", "One of them is not so", 503)],
  },
  description: {
    method: "GET",
    path: "/v1/openapi.json",
    access: "any token",
    means: "This description",
    answers: [json("OpenApi", "OpenAPI 3.1")],
  },
  capabilities: {
    method: "GET",
    path: "/v1/capabilities",
    access: "any token",
    facet: "threads",
    means: "The capabilities of the storage behind the service",
    answers: [json("Capabilities", "Its capabilities")],
  },
  now: {
    method: "GET",
    path: "/v1/clock",
    access: "any token",
    facet: "threads",
    means: "The storage's clock, which all holders of leases share",
    answers: [json("Clock", "Milliseconds since 1970")],
  },
  listThreads: {
    method: "GET",
    path: "/v1/threads",
    access: "threads:read",
    facet: "threads",
    means: "Threads that have a checkpoint, in a stable order",
    query: [{ name: "prefix", means: "What their ids begin with, literally", schema: "text" }, cursor, limit],
    answers: [json("ThreadPage", "A page")],
  },
  tail: {
    method: "GET",
    path: "/v1/threads/{thread}",
    access: "threads:read",
    facet: "threads",
    means: "The newest record of a thread without its body; its place is the ETag",
    isTagged: true,
    answers: [json("FoundTail", "The tail"), absent],
  },
  remove: {
    method: "DELETE",
    path: "/v1/threads/{thread}",
    access: "threads:delete",
    facet: "threads",
    means: "Deletes a whole thread",
    precondition: "optional",
    answers: [
      json("Removal", "It is gone, or was not there"),
      json("Removal", "It is not at that place any more", 412),
    ],
  },
  readTail: {
    method: "GET",
    path: "/v1/threads/{thread}/state",
    access: "threads:read",
    facet: "threads",
    means:
      "The newest record and every record it builds on. A client that has the thread up to a place names it, and is sent only what is newer if that place is still in the thread",
    query: [
      { name: "generation", means: "The generation of the known place", schema: "text" },
      { name: "after", means: "Its position; goes with generation and write", schema: "position" },
      { name: "write", means: "The write id of the record there", schema: "text" },
    ],
    isTagged: true,
    answers: [chain, absent],
  },
  readRecords: {
    method: "GET",
    path: "/v1/threads/{thread}/records",
    access: "threads:read",
    facet: "threads",
    means: "The newest records with their bodies, whether or not they are checkpoints; fewer if they are large",
    query: [{ name: "before", means: "Only those below this position", schema: "position" }, limit],
    isTagged: true,
    answers: [chain, absent],
  },
  append: {
    method: "POST",
    path: "/v1/threads/{thread}/records",
    access: "threads:write",
    facet: "threads",
    means:
      "Adds a record, or several, at the place named by If-Match, or makes the thread. To take checkpoints out, or to let the thread expire, needs threads:delete too",
    precondition: "required",
    request: { type: FRAME_TYPE, schema: "Append" },
    answers: [
      json("AppendOutcome", "It was added", 201),
      json("AppendOutcome", "Nothing was written: the thread is elsewhere", 412),
    ],
  },
  send: {
    method: "POST",
    path: "/v1/threads/{thread}/signals",
    access: "threads:write",
    facet: "threads",
    means:
      "Sends words, answers, the outcome of a call or a cancellation to a thread, without holding it. The same id again is the same signal",
    request: { type: JSON_TYPE, schema: "Send", maxBytes: SIGNAL_BODY },
    answers: [json("Sent", "It was there before", 200), json("Sent", "It is durable", 201)],
  },
  list: {
    method: "GET",
    path: "/v1/threads/{thread}/checkpoints",
    access: "threads:read",
    facet: "threads",
    means: "Checkpoints without their bodies, newest first; none if there is no thread",
    query: [{ name: "before", means: "Only those below this position", schema: "position" }, limit],
    answers: [json("Entries", "Their entries")],
  },
  entry: {
    method: "GET",
    path: "/v1/threads/{thread}/checkpoints/{checkpoint}",
    access: "threads:read",
    facet: "threads",
    means: "The newest record with this name, without its body",
    answers: [json("FoundEntry", "Its entry"), absent],
  },
  readCheckpoint: {
    method: "GET",
    path: "/v1/threads/{thread}/checkpoints/{checkpoint}/state",
    access: "threads:read",
    facet: "threads",
    means: "The newest record with this name, and every record it builds on",
    isTagged: true,
    answers: [chain, absent],
  },
  copy: {
    method: "POST",
    path: "/v1/threads/{thread}/copy",
    access: "threads:write",
    facet: "threads",
    means: "Makes another thread with the same records",
    request: { type: JSON_TYPE, schema: "Copy", maxBytes: SMALL_BODY },
    answers: [json("CopyOutcome", "What came of it")],
  },
  subscribe: {
    method: "GET",
    path: "/v1/threads/{thread}/events",
    access: "threads:read",
    facet: "threads",
    means: 'An event "change" now and some time after every change of the thread',
    answers: [{ status: 200, means: "A stream that does not end", type: EVENTS_TYPE, schema: "Events" }],
  },
  search: {
    method: "POST",
    path: "/v1/search",
    access: "threads:read",
    facet: "threads",
    means:
      "Records whose words hold all of these, best first, or newest first where there are very many; `after` is the place of a hit",
    request: { type: JSON_TYPE, schema: "Search", maxBytes: QUERY_BODY },
    answers: [json("Hits", "What was found")],
  },
  queryMetadata: {
    method: "POST",
    path: "/v1/metadata-query",
    access: "threads:read",
    facet: "threads",
    means: "Threads whose newest checkpoint has this metadata",
    request: { type: JSON_TYPE, schema: "MetadataQuery", maxBytes: QUERY_BODY },
    answers: [json("ThreadPage", "A page")],
  },
};

export const ROUTES: Readonly<Record<Operation, Route>> = { ...OTHER_ROUTES, ...ITEM_ROUTES };

export const OPERATIONS: readonly Operation[] = Object.keys(ROUTES) as Operation[];

const PATTERNS = OPERATIONS.map((operation) => {
  const { path } = ROUTES[operation];
  const pattern = path.replaceAll(".", "\\.").replace(/\{(\w+)\}/g, "(?<$1>[^/]+)");
  return { operation, route: ROUTES[operation], pattern: new RegExp(`^${pattern}$`) };
});

/** All operations on a path, whatever the method. */
export const routesAt = (path: string): readonly Route[] =>
  PATTERNS.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route);

export interface MatchedRoute {
  readonly operation: Operation;
  /** The segments that stand for `{thread}` and `{checkpoint}`, as they are in the path. */
  readonly segments: Readonly<Record<string, string>>;
}

/** The operation that a request asks for. HEAD asks for what GET does. */
export function routeOf(method: string, path: string): MatchedRoute | undefined {
  const wanted = method === "HEAD" ? "GET" : method;
  for (const { operation, route, pattern } of PATTERNS) {
    const found = route.method === wanted ? pattern.exec(path) : null;
    if (found !== null) return { operation, segments: found.groups ?? {} };
  }
  return undefined;
}

export interface PathIds {
  readonly thread?: string;
  readonly checkpoint?: string;
}

/** The path of an operation on these ids. */
export const pathOf = (operation: Operation, ids: PathIds = {}): string =>
  ROUTES[operation].path
    .replace("{thread}", () => encodeSegment(ids.thread ?? ""))
    .replace("{checkpoint}", () => encodeSegment(ids.checkpoint ?? ""));
