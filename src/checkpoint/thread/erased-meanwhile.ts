import { StateError } from "../../errors.ts";
import type { CheckpointContext } from "../context.ts";
import type { ThreadFacts } from "../record/record.ts";

/** A thread as somebody knows it. */
interface Seen {
  readonly generation: string;
  readonly thread: ThreadFacts | undefined;
}

/** A state that was loaded before somebody's words were erased from the thread would bring them back: it is refused. */
export function assertNothingErased(
  { log }: CheckpointContext,
  threadId: string,
  loaded: Seen | undefined,
  now: Seen | undefined,
): void {
  if (loaded === undefined || loaded.generation !== now?.generation) return;
  if ((loaded.thread?.erasures ?? 0) === (now.thread?.erasures ?? 0)) return;
  throw new StateError(
    "CONFLICT",
    `${log.name}: data of a person was erased from thread ${JSON.stringify(threadId)} since this state was loaded, and the state may still hold it. Load it again and redo the change; nothing was written`,
    { backend: log.name, operation: "save", threadId, written: "no" },
  );
}
