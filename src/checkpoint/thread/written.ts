import { type ErrorCode, StateError } from "../../errors.ts";
import type { ThreadLog } from "../log/thread-log.ts";

/** With these codes the storage, or this package, refused before anything was done. */
const DECLINED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "INVALID_ARGUMENT",
  "PERMISSION_DENIED",
  "TOO_LARGE",
  "UNSUPPORTED",
  "INCOMPATIBLE",
  "MISSING_DEPENDENCY",
  "CLOSED",
]);

/** Whether a write that ended with this error may have been applied all the same. */
export function mayBeWritten(log: ThreadLog, error: unknown): boolean {
  if (log.declined(error)) return false;
  const code = StateError.is(error) ? error.code : log.classify(error);
  return code === undefined || !DECLINED.has(code);
}

/**
 * The same error, which now says whether the write may have been applied. An error
 * that already says so, or concerns the call itself, is left unchanged.
 */
export function sayingWhetherWritten(
  error: unknown,
  mayBe: boolean,
  ifMayBe = "It may have been written; saving the same state again applies it once",
): unknown {
  if (!StateError.is(error) || error.code === "INVALID_ARGUMENT" || error.context.written !== undefined) return error;
  const meaning = mayBe ? ifMayBe : "Nothing was written";
  return new StateError(error.code, `${error.message.replace(/(?<![.;\s])[.;\s]+$/, "")}. ${meaning}`, {
    ...error.context,
    written: mayBe ? "unknown" : "no",
    cause: error.cause,
  });
}

/** Whether a refused save says that an earlier attempt at it may have been applied: then the change is not made again unseen. */
export const mayBeThereAlready = (error: unknown): boolean =>
  StateError.is(error) && error.context.written === "unknown";
