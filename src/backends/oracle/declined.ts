import { StateError } from "../../errors.ts";

/** Errors that were raised before the statement was sent. */
const unsent = new WeakSet<object>();

/** Records that nothing had been sent when this error was raised. */
export function neverSent(error: unknown): unknown {
  if (typeof error === "object" && error !== null) unsent.add(error);
  return error;
}

/**
 * Whether a failed write was certainly not made. A block that failed with a server
 * error is rolled back as a whole and never reaches its commit. An error that ends
 * the session arrives as one of the client's (NJS-500), and may have come after the
 * commit.
 */
export function isDeclined(error: unknown): boolean {
  if (typeof error === "object" && error !== null && unsent.has(error)) return true;
  const cause = StateError.is(error) ? error.cause : error;
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === "string" && /^ORA-\d+$/.test(code);
}
