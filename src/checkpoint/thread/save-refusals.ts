import { StateError } from "../../errors.ts";
import type { CheckpointContext } from "../context.ts";

/** The new part of the state fits into no record of this storage. */
export function tooLarge({ log }: CheckpointContext, threadId: string, size: string): StateError {
  const { maxRecordBytes } = log.capabilities;
  const found = `what is new in thread ${JSON.stringify(threadId)} is ${size} bytes`;
  const remedy = "Save it in several steps, with fewer new messages or fields in each";
  return new StateError("TOO_LARGE", `${found}; ${log.name} takes at most ${maxRecordBytes}. ${remedy}`, { threadId });
}

/** Somebody else saved first, or the thread is gone. */
export function movedOn(
  context: CheckpointContext,
  threadId: string,
  expected: string | null,
  actual: string | null,
): StateError {
  const found = actual === null ? "no thread" : actual;
  const wanted = expected === null ? "no thread" : expected;
  return new StateError(
    "CONFLICT",
    `${context.log.name}: thread ${JSON.stringify(threadId)} has moved on: expected ${wanted}, found ${found}. Load it again and redo the change; nothing was written`,
    { backend: context.log.name, operation: "save", threadId, expected, actual, written: "no" },
  );
}
