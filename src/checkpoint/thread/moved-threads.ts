import { newId } from "../../driver/new-id.ts";
import { StateError } from "../../errors.ts";
import type { CheckpointContext } from "../context.ts";
import { placeOfTail, wasAppended } from "../log/append-rules.ts";
import type { ThreadTail } from "../log/thread-log.ts";
import { markRecord, openHeader, type ThreadFacts } from "../record/record.ts";

/** Refuses to write to a thread that lives elsewhere now: two live copies would run the same effects twice. */
export function assertNotMoved(context: CheckpointContext, threadId: string, thread: ThreadFacts | undefined): void {
  if (thread?.moved === undefined) return;
  const { to, at } = thread.moved;
  throw new StateError(
    "CONFLICT",
    `${context.log.name}: thread ${JSON.stringify(threadId)} was moved to ${to} at ${new Date(at).toISOString()}; open it there. Nothing was written`,
    { backend: context.log.name, threadId, written: "no" },
  );
}

/**
 * Marks a thread as moved, from exactly this tail on. Later saves, a graph's
 * checkpoints and leases are refused and told where it is. Returns false where somebody wrote meanwhile: what
 * was copied is not all of it then.
 */
export async function markMoved(
  context: CheckpointContext,
  threadId: string,
  tail: ThreadTail,
  to: string,
): Promise<boolean> {
  const { entry } = tail;
  const { kind, thread } = openHeader(entry);
  const parts = { seq: entry.seq + 1, writeId: newId(), base: entry.base, head: entry.head };
  const facts = { ...thread, moved: { to, at: context.now() } };
  const request = {
    expected: placeOfTail(tail),
    record: markRecord("edit", parts, context.now(), facts),
    // Marks that say less than this one.
    ...((kind === "edit" || kind === "lease") && { drop: [entry.seq] }),
  };
  const outcome = await context.call({ operation: "copy", threadId }, (log) => log.append(threadId, request));
  return wasAppended(outcome, request);
}
