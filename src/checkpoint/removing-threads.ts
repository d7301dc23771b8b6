import type { CallPlace } from "../driver/call.ts";
import { StateError } from "../errors.ts";
import type { CheckpointContext } from "./context.ts";
import { removeThread } from "./editing.ts";
import { LostRaces } from "./lost-races.ts";

/** Deletes a whole thread while `expectedHead` is its newest checkpoint; anything else is a conflict, and nothing is deleted. */
export async function removeThreadAt(
  context: CheckpointContext,
  place: CallPlace & { readonly threadId: string },
  expectedHead: string,
): Promise<boolean> {
  const { threadId } = place;
  // Records that are not checkpoints, such as those of a lease, may come meanwhile: the head is what counts.
  for (const races = new LostRaces(context, "delete", threadId); ; races.lost()) {
    const tail = await context.call(place, (log) => log.tail(threadId));
    if (tail === undefined) return false;
    const { head, seq } = tail.entry;
    const [newest] = seq === head ? [tail.entry] : await context.call(place, (log) => log.list(threadId, { limit: 1 }));
    const actual = newest?.checkpointId ?? null;
    if (actual !== expectedHead) {
      const message = `thread ${JSON.stringify(threadId)} has moved on: expected ${expectedHead}, found ${actual ?? "no checkpoint"}. Nothing was deleted`;
      throw new StateError("CONFLICT", message, { ...place, expected: expectedHead, actual, written: "no" });
    }
    const removed = await removeThread(context, place, { generation: tail.generation, seq });
    if (removed !== "moved") return removed === "removed";
  }
}
