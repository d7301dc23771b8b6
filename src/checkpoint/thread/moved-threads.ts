import type { CheckpointContext } from "../context.ts";
import type { ThreadTail } from "../log/thread-log.ts";
import { planMark, Thread, tailOf } from "./thread.ts";

/**
 * Marks a thread as moved, from exactly this tail on. Later saves, a graph's
 * checkpoints and leases are refused and told where it is. Returns false where
 * another process wrote meanwhile: what was copied is not all of it then.
 */
export async function markMoved(
  context: CheckpointContext,
  threadId: string,
  found: ThreadTail,
  to: string,
): Promise<boolean> {
  const thread = new Thread(context, threadId, "copy");
  const tail = tailOf(found);
  const facts = { ...tail.thread, moved: { to, at: context.now() } };
  return (await thread.appendOnce(planMark(thread, "edit", tail, facts))) !== undefined;
}
