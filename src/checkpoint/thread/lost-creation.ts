import { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { CheckpointContext } from "../context.ts";
import type { AppendRequest } from "../log/thread-log.ts";
import { type Attempt, type CreationSeen, forgetAttempt } from "./attempt.ts";

/**
 * An attempt at making a thread got no answer. Repeating it is right where the
 * thread was never made, and wrong where it was made and somebody deleted it
 * since: that would bring it back. A deleted thread leaves no trace, so what can
 * be told apart must be told right away, and what cannot is for the caller to say.
 */

/** One look, without retries: the caller is waiting for the error that came before. */
export async function creationSeen(
  { log }: CheckpointContext,
  threadId: string,
  { expected }: AppendRequest,
): Promise<CreationSeen> {
  try {
    const found = await log.tail(threadId);
    return found?.generation === expected.generation ? "made" : "absent";
  } catch {
    return "unknown";
  }
}

/** Refuses to repeat the creation of a thread that may have been deleted since. The next save counts as a new one. */
export async function assertNotDeleted(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  { creation }: Attempt,
): Promise<void> {
  if (creation === undefined || creation === "absent") return;
  const found = await context.call({ operation: "save", threadId }, (log) => log.tail(threadId));
  if (found !== undefined) return;
  forgetAttempt(context, state, threadId);
  const { name } = context.log;
  const what =
    creation === "made"
      ? "was made by an earlier attempt at this save and has been deleted since"
      : "is not there: an earlier attempt at this save got no answer, so it was either never made or deleted since";
  throw new StateError(
    "CONFLICT",
    `${name}: thread ${JSON.stringify(threadId)} ${what}. Save once more if it should be there; nothing was written`,
    { backend: name, operation: "save", threadId, actual: null, written: "no" },
  );
}
