import { StateError } from "../../errors.ts";
import { sqlState } from "./classify.ts";

/** Failures that came before the statement was sent. */
const unsent = new WeakSet<object>();

/** Remembers that nothing was sent when this was thrown. */
export function neverSent(error: unknown): unknown {
  if (typeof error === "object" && error !== null) unsent.add(error);
  return error;
}

/**
 * With these the server undid the transaction that every statement of ours is.
 * Not with all: one that ends a connection may come after the commit.
 */
const UNDONE: ReadonlySet<string> = new Set([
  // Read-only: a replica, or a primary that was demoted under us.
  "25006",
  // Two transactions got in each other's way.
  "40001",
  "40P01",
  // No room, no memory.
  "53100",
  "53200",
  // lock_timeout; statement_timeout, which does not run any more once a commit began, or a cancel.
  "55P03",
  "57014",
]);

/** Whether a failed write was surely not made. */
export function isDeclined(error: unknown): boolean {
  if (typeof error === "object" && error !== null && unsent.has(error)) return true;
  const state = sqlState(StateError.is(error) ? error.cause : error);
  return state !== undefined && UNDONE.has(state);
}
