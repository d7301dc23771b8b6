import { StateError } from "../../errors.ts";

/** Failures that came before the statement was sent. */
const unsent = new WeakSet<object>();

/** Remembers that nothing was sent when this was thrown. */
export function neverSent(error: unknown): unknown {
  if (typeof error === "object" && error !== null) unsent.add(error);
  return error;
}

/**
 * Whether a failed write was surely not made. A block that ended with an error of
 * the server's is undone as a whole, and its commit is never reached. An error
 * that ends the session is one of the client's (NJS-500) by the time it is here,
 * and may have come after the commit.
 */
export function isDeclined(error: unknown): boolean {
  if (typeof error === "object" && error !== null && unsent.has(error)) return true;
  const cause = StateError.is(error) ? error.cause : error;
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === "string" && /^ORA-\d+$/.test(code);
}
