import { StateError } from "../../errors.ts";
import { sqlState } from "./classify.ts";

/** Errors that were raised before the statement was sent. */
const unsent = new WeakSet<object>();

/** Records that nothing had been sent when this error was raised. */
export function neverSent(error: unknown): unknown {
  if (typeof error === "object" && error !== null) unsent.add(error);
  return error;
}

/**
 * With these codes the server has rolled back the transaction. (Each of our
 * statements is one.) Codes that end a connection are not listed: they may come
 * after the commit.
 */
const UNDONE: ReadonlySet<string> = new Set([
  // Read-only: a replica, or a primary that was just demoted.
  "25006",
  // Two transactions conflicted.
  "40001",
  "40P01",
  // Disk or memory full.
  "53100",
  "53200",
  // lock_timeout; a cancel, or statement_timeout, which no longer applies once the commit has begun.
  "55P03",
  "57014",
]);

/** Whether a failed write was certainly not made. */
export function isDeclined(error: unknown): boolean {
  if (typeof error === "object" && error !== null && unsent.has(error)) return true;
  const state = sqlState(StateError.is(error) ? error.cause : error);
  return state !== undefined && UNDONE.has(state);
}
