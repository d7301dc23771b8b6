import type { CheckpointContext } from "../../checkpoint/context.ts";
import { everyThread } from "../../checkpoint/find/finding.ts";
import { type ThreadWarning, Warnings } from "../../driver/warnings.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { globMatcher, globPrefix, hasWildcards } from "../../internal/glob.ts";
import { missingThread } from "../references.ts";

/** The trouble of one thread, which is not the trouble of the next. */
const OF_ONE_THREAD: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "CONFLICT",
  "CORRUPT",
  "INCOMPATIBLE",
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "TOO_LARGE",
  "UNSUPPORTED",
]);

export interface ThreadFailure {
  readonly threadId: string | undefined;
  readonly code: ErrorCode;
  readonly message: string;
}

/**
 * The ids of all threads that match, page by page. A pattern without wildcards names one thread: if that is absent,
 * it is an error, because "0 threads proven" would look like a proof.
 */
export async function* threadIds(
  context: CheckpointContext,
  pattern: string,
  warnings: Warnings,
): AsyncGenerator<string> {
  const matches = globMatcher(pattern);
  const prefix = globPrefix(pattern);
  let isFound = false;
  const met = new Warnings();
  for await (const { threadId } of everyThread(context, "listThreads", prefix, met)) {
    if (!matches(threadId)) continue;
    isFound = true;
    yield threadId;
  }
  warnings.addAll(met, ({ threadId }) => threadId === undefined || matches(threadId));
  if (!isFound && !hasWildcards(pattern) && warnings.list.length === 0) throw missingThread(prefix);
}

/** Runs `work`; a failure that is this thread's own is handed back, any other thrown. */
export async function ownFailure(threadId: string, work: () => Promise<void>): Promise<ThreadFailure | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!StateError.is(error) || !OF_ONE_THREAD.has(error.code)) throw error;
    return { threadId, code: error.code, message: error.message };
  }
}

/** What a walk noted of threads that it could not even list. */
export function failuresOf({ list, count }: Warnings): readonly ThreadFailure[] {
  const failures = list.map(({ threadId, code, message }: ThreadWarning) => ({ threadId, code, message }));
  if (count === list.length) return failures;
  return [
    ...failures,
    { threadId: undefined, code: "CORRUPT", message: `${count - list.length} more threads cannot be listed` },
  ];
}
