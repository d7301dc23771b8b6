import { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { CheckpointContext } from "../context.ts";
import { editsAt } from "../history/editing.ts";
import { type Attempt, findWrite, forgetAttempt, leaveUnsettled } from "./attempt.ts";
import { type Position, positionOf } from "./position.ts";
import { mayBeThereAlready, sayingWhetherWritten } from "./written.ts";

/** An attempt whose answer was lost, if not in this call then in an earlier one. */
export interface LostAttempt {
  readonly attempt: Attempt;
  /** It was in this call, and nothing is at its place. */
  readonly isUnseen: boolean;
}

/**
 * For a save that met a conflict, and of which an earlier attempt may have been
 * applied: the checkpoint of that attempt. Throws where there is none. Until that
 * is known, whoever saves the same state once more looks for it, too.
 */
export async function earlierAttempt(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  { attempt, isUnseen }: LostAttempt,
  conflict: StateError,
): Promise<string> {
  if (isUnseen) leaveUnsettled(context, state, threadId, attempt);
  try {
    const found = await findWrite(context, state, threadId, attempt.writeId);
    if (found !== undefined) return found;
    const told = await toldOf(context, threadId, positionOf(context, state, threadId), conflict);
    if (isUnseen && !mayBeThereAlready(told)) forgetAttempt(context, state, threadId);
    throw told;
  } catch (error) {
    throw sayingWhetherWritten(error, true);
  }
}

/**
 * The attempt got no answer, others saved behind it, and a vacuum or a deletion may
 * have taken its record away before its writer could look for it. Its content would
 * be in the newest state, but its name is gone. So a repetition that finds nothing of
 * its own says that nothing was written only where no checkpoint was removed since the
 * state was loaded.
 */
async function toldOf(
  context: CheckpointContext,
  threadId: string,
  position: Position | undefined,
  conflict: StateError,
): Promise<StateError> {
  // Read after the search for the write: what is removed later would have been found.
  const tail = await context.call({ operation: "save", threadId }, (log) => log.tail(threadId));
  const isSameThread = position === undefined || tail?.generation === position.generation;
  if (tail === undefined || !isSameThread || editsAt(tail) === (position?.thread?.edits ?? 0)) return conflict;
  const { name } = context.log;
  return new StateError(
    "CONFLICT",
    `${name}: thread ${JSON.stringify(threadId)} has moved on. An earlier attempt at this save got no answer, and checkpoints were removed since, so it cannot be told whether it was applied. Load the thread, and redo the change only if it is not in it`,
    { ...conflict.context, written: "unknown", cause: conflict },
  );
}
