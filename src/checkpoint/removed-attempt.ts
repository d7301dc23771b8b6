import { StateError } from "../errors.ts";
import type { CheckpointContext } from "./context.ts";
import { editsAt } from "./editing.ts";
import type { Position } from "./position.ts";

/**
 * An attempt at a save got no answer, others saved behind it, and a vacuum or a
 * deletion took the record away before its writer could look for it. Its content
 * is in the newest state, but its name is gone. So a repetition that finds nothing
 * of its own may say that nothing was written only where no checkpoint was removed
 * since the state was loaded.
 */
export async function conflictOfRepetition(
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
