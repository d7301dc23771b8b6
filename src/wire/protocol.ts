/**
 * What both ends of the protocol know: names of headers, kinds of bodies, limits.
 * The protocol moves the operations of a `ThreadLog` and of a `StoreDriver`, so
 * records travel as the deltas they are, and every feature above works on the
 * client as it does on a storage of its own.
 */

export const PROTOCOL_VERSION = "1";

/** On every answer. One without it does not come from a holdfast service, whatever its status says. */
export const PROTOCOL_HEADER = "holdfast-protocol";

export const JSON_TYPE = "application/json";
export const PROBLEM_TYPE = "application/problem+json";
/** Records with their bodies; see `frame.ts`. */
export const FRAME_TYPE = "application/vnd.holdfast.frame";
export const EVENTS_TYPE = "text/event-stream";

/** The most entries, threads or hits that one request may ask for: what the checkpointer itself allows, and the one more it looks ahead. */
export const MAX_PAGE_ITEMS = 10_001;

/** More words than anybody searches for; each of them costs the index a lookup. */
export const MAX_WORDS = 1000;

/** How often a watch sends something although nothing happened, so that both ends notice a dead connection. */
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
