import { StateError } from "../../errors.ts";
import { isRefused } from "../saving/refused-results.ts";
import type { ThreadSession } from "../saving/thread-session.ts";

/**
 * What runs could not save before they failed, by thread: an effect that took
 * place must not be forgotten because the storage was unreachable. It is written on
 * request, or before the next run of this process on that thread.
 */
const sessions = new WeakMap<object, Map<string, ThreadSession>>();

const threadsOf = new WeakMap<Error, { readonly checkpointer: object; readonly threadId: string }>();

export function leaveUnsettled(checkpointer: object, threadId: string, session: ThreadSession, error: Error): void {
  const threads = sessions.get(checkpointer) ?? new Map<string, ThreadSession>();
  sessions.set(checkpointer, threads.set(threadId, session));
  threadsOf.set(error, { checkpointer, threadId });
}

/** What the run that ended with this error could not save. */
export async function settleError(error: Error): Promise<void> {
  const place = threadsOf.get(error);
  const session = place && sessions.get(place.checkpointer)?.get(place.threadId);
  if (place !== undefined && session !== undefined) await settle(place.checkpointer, place.threadId, session);
}

/**
 * Writes what was left, if anything was. Words that the storage refuses are dropped, as their
 * sender was told: they must not keep the thread from everything that is said later.
 */
export async function settleThread(checkpointer: object, threadId: string): Promise<void> {
  const session = sessions.get(checkpointer)?.get(threadId);
  if (session === undefined) return;
  try {
    await settle(checkpointer, threadId, session);
  } catch (error) {
    if (!isRefused(error) || session.owesOutcome) throw error;
    sessions.get(checkpointer)?.delete(threadId);
  }
}

/** Nothing is written where the thread has moved on without it: then another settled it. */
async function settle(checkpointer: object, threadId: string, session: ThreadSession): Promise<void> {
  try {
    await session.finish();
  } catch (error) {
    if (!StateError.is(error, "CONFLICT")) throw error;
  }
  sessions.get(checkpointer)?.delete(threadId);
}
