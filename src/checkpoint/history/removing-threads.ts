import type { CallPlace } from "../../driver/call.ts";
import { newId } from "../../driver/new-id.ts";
import { StateError } from "../../errors.ts";
import { isLeftToService } from "../../state/people/legal-hold.ts";
import type { CheckpointContext } from "../context.ts";
import { placeOfTail } from "../log/append-rules.ts";
import type { KnownPlace, ThreadLog, ThreadTail } from "../log/thread-log.ts";
import { assertNotHeld } from "../people/holds.ts";
import { LostRaces } from "../thread/lost-races.ts";
import { mayBeWritten, sayingWhetherWritten } from "../thread/written.ts";

type ThreadPlace = CallPlace & { readonly threadId: string };

/**
 * Deletes a whole thread, whatever its tail is. It goes at a place that was read
 * before the holds were: a hold that is placed meanwhile changes the place.
 *
 * `seen` is where a caller that looked already saw it.
 */
export async function removeThread(
  context: CheckpointContext,
  place: ThreadPlace,
  seen?: ThreadTail,
): Promise<"removed" | "absent"> {
  const races = new LostRaces(context, "delete", place.threadId);
  for (let at = seen === undefined ? warmPlace(context, place) : placeOfTail(seen); ; races.lost()) {
    at ??= await whereItIs(context, place);
    const removed = await removeThreadIf(context, place, at).catch((error: unknown) => {
      if (at === undefined || !isUnreadable(error)) throw error;
      return removeThreadIf(context, place, undefined);
    });
    if (removed !== "moved") return removed;
    at = undefined;
  }
}

/** Where this process last saw it. */
function warmPlace(context: CheckpointContext, { threadId }: ThreadPlace): KnownPlace | undefined {
  return context.warm.get(threadId)?.position.tail;
}

/** Nothing for a thread that cannot be read, or not with this token: it can be deleted all the same. */
async function whereItIs(context: CheckpointContext, place: ThreadPlace): Promise<KnownPlace | undefined> {
  try {
    const tail = await context.call(place, (log) => log.tail(place.threadId));
    // No thread has this place: one that is made meanwhile stays.
    if (tail === undefined) return { generation: newId(), seq: 1, writeId: newId() };
    return placeOfTail(tail);
  } catch (error) {
    if (isUnreadable(error) || isLeftToService(error)) return undefined;
    throw error;
  }
}

/** Damaged, of a newer version, or sealed with a person's key that was lost. */
export const isUnreadable = (error: unknown): boolean =>
  StateError.is(error, "CORRUPT") ||
  StateError.is(error, "INCOMPATIBLE") ||
  (StateError.is(error) && error.context.keyId !== undefined);

/**
 * Deletes a whole thread while `ifTail` is its tail, which was read before; without
 * it, whatever is there. A failure says whether the thread may be gone all the same.
 */
export async function removeThreadIf(
  context: CheckpointContext,
  place: ThreadPlace,
  ifTail: KnownPlace | undefined,
): Promise<"removed" | "absent" | "moved"> {
  await context.guard(place, () => assertNotHeld(context, place.threadId));
  let mayBe = false;
  const remove = (log: ThreadLog): ReturnType<ThreadLog["remove"]> =>
    log.remove(place.threadId, ifTail).catch((error: unknown) => {
      mayBe ||= mayBeWritten(log, error);
      throw error;
    });
  try {
    return await context.call(place, remove);
  } catch (error) {
    throw sayingWhetherWritten(error, mayBe, "It may have been carried out; deleting again is safe");
  }
}

/** Deletes a whole thread while `expectedHead` is its newest checkpoint; anything else is a conflict, and nothing is deleted. */
export async function removeThreadAt(
  context: CheckpointContext,
  place: ThreadPlace,
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
    const removed = await removeThreadIf(context, place, placeOfTail(tail));
    if (removed !== "moved") return removed === "removed";
  }
}
