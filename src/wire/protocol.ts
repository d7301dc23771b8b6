/**
 * What both ends of the protocol know: header names, content types, limits. The
 * protocol carries the operations of a `ThreadLog` and of a `StoreDriver`. So
 * records travel as deltas, and every feature above works on the client as it
 * does on a local storage.
 */

export const PROTOCOL_VERSION = "1";

/** Sent with every answer. An answer without it does not come from a holdfast service, whatever its status says. */
export const PROTOCOL_HEADER = "holdfast-protocol";

export const JSON_TYPE = "application/json";
export const PROBLEM_TYPE = "application/problem+json";
/** Records with their bodies; see `frame.ts`. */
export const FRAME_TYPE = "application/vnd.holdfast.frame";
export const EVENTS_TYPE = "text/event-stream";

/**
 * The most entries, threads or hits that one request may ask for: the
 * checkpointer's own limit, plus the one it reads ahead.
 */
export const MAX_PAGE_ITEMS = 10_001;

/** More words than any real search has. Each one costs the index a lookup. */
export const MAX_WORDS = 1000;

/** How often an idle watch sends something, so that both ends notice a dead connection. */
export const HEARTBEAT_MS = 15_000;

export const SCOPES = [
  "threads:read",
  "threads:write",
  "threads:delete",
  "items:read",
  "items:write",
  "items:delete",
] as const;
/** What a token may do. */
export type Scope = (typeof SCOPES)[number];
